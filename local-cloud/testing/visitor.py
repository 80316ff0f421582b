"""A browser without its screen: it keeps cookies, follows forms, and says where it comes from."""

from __future__ import annotations

import http.client
import re
from dataclasses import dataclass, field
from html import unescape
from urllib.parse import urlencode, urljoin, urlsplit

from local_cloud.client import control
from local_cloud.client.control import Status
from local_cloud.client.home import Home


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str

    def __contains__(self, words: str) -> bool:
        """Whether the page says this."""
        return words in unescape(self.text)


@dataclass
class Visitor:
    """Somebody at the console of a local cloud."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, cloud: Status) -> Visitor:
        """Somebody who has signed in."""
        visitor = cls(cloud.port)
        link = urlsplit(control.console_link(Home(cloud.home.folder)))
        assert visitor.get(f"{link.path}?{link.query}").status == 303
        return visitor

    @property
    def origin(self) -> str:
        """The console's."""
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: str | None = None, **headers: str) -> Answer:
        """Send a request as it is; an underscore in a header's name stands for a hyphen."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        fields = {name.lower(): value for name, value in answer.getheaders()}
        if set_cookie := fields.get("set-cookie"):
            name, _, value = set_cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        text = answer.read().decode(errors="replace")
        connection.close()
        return Answer(answer.status, fields, text)

    def get(self, path: str, **headers: str) -> Answer:
        """Open a page."""
        return self.ask("GET", path, **headers)

    def follow(self, link: str) -> Answer:
        """Open a page as a browser does: to where it redirects."""
        path = link.removeprefix(self.origin).partition("#")[0]
        answer = self.get(path)
        if answer.status == 303:
            return self.follow(urljoin(path, answer.headers["location"]))
        return answer

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Answer:
        """Send a form as a page of the console does, but for the headers that are given."""
        kind = {"Content_Type": "application/x-www-form-urlencoded", "Origin": self.origin}
        kind |= {"Sec_Fetch_Site": "same-origin"}
        return self.ask("POST", path, urlencode(fields), **kind | headers)

    def press(self, page: str, button: str) -> Answer:
        """Press the button of a page's form, and open the page to which that leads."""
        text = self.get(page).text
        forms = re.findall(r'<form method="post" action="([^"]+)">(.*?)</form>', text, re.S)
        ((action, inside),) = [form for form in forms if f">{button}<" in form[1]]
        fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', inside))
        action = urljoin(page, unescape(action))
        answer = self.post(action, {name: unescape(value) for name, value in fields.items()})
        assert answer.status == 303, answer.text
        return self.get(urljoin(action, answer.headers["location"]))
