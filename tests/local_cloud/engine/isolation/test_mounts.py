"""Folders at paths such as /gcs, by a mount namespace or by rewriting."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.engine import system
from local_cloud.engine.isolation import mounts
from local_cloud.engine.isolation.mounts import rewrite
from local_cloud.engine.spec import JobContext, Plan, Replica, State
from tests.local_cloud.engine.support import Cloud, alive, engine, run, until

namespaces = pytest.mark.skipif(not available(), reason="this machine has no mount namespaces")
GCS = {"/gcs": Path("/data/cloud")}


def sh(
    script: str, places: dict[str, Path], user: int | None = None
) -> subprocess.CompletedProcess[str]:
    """The script's result with these mounts."""
    command = inside(("sh", "-c", script), places)
    if user:  # who may not be able to use this interpreter
        command = ("/usr/bin/python3", *command[1:])
    return subprocess.run(
        command, capture_output=True, text=True, check=False, user=user, group=user
    )


@pytest.mark.skipif(
    not (system.LINUX and shutil.which("unshare")), reason="there are no mounts without unshare"
)
def test_a_machine_that_allows_mounts_is_seen_to_allow_them() -> None:
    """A fault in them would otherwise skip the tests below."""
    allowed = ["unshare", "--user", "--map-root-user", "--mount", "mount", "--bind", "/tmp", "/mnt"]
    assert available() or subprocess.run(allowed, check=False).returncode


@namespaces
class TestNamespace:
    def test_a_folder_is_seen_at_a_path_that_this_machine_lacks(self, tmp_path: Path) -> None:
        (tmp_path / "in").write_text("hello")
        assert not Path("/gcs").exists()
        assert sh("cat /gcs/in; echo out > /gcs/out", {"/gcs": tmp_path}).stdout == "hello"
        assert (tmp_path / "out").read_text() == "out\n"
        assert not Path("/gcs").exists()

    def test_several_deep_and_over_what_exists(self, tmp_path: Path) -> None:
        for name in ("a", "b", "c"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "file").write_text(name)
        places = {
            "/opt/ml": tmp_path / "a",
            "/no/such/path": tmp_path / "b",
            "/var/tmp": tmp_path / "c",
        }
        done = sh("cat /opt/ml/file /no/such/path/file /var/tmp/file; ls /opt /var", places)
        assert done.stdout.startswith("abc")
        assert {*os.listdir("/opt"), *os.listdir("/var"), "ml"} == set(done.stdout[3:].split()) - {
            "/opt:",
            "/var:",
        }

    def test_all_else_is_as_before(self, tmp_path: Path) -> None:
        script = "ls -d /*; pwd; id -u; ls -l /dev/null; cat /proc/self/cmdline | head -c 2"
        seen = sh(script, {"/gcs": tmp_path}).stdout
        plain = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
        assert seen.replace("/gcs\n", "") == plain.stdout.replace("/gcs\n", "")

    def test_the_process_is_the_one_that_was_started(self, tmp_path: Path) -> None:
        with subprocess.Popen(
            inside(("sh", "-c", "echo $$"), {"/gcs": tmp_path}), stdout=subprocess.PIPE, text=True
        ) as process:
            assert int(process.communicate()[0]) == process.pid

    def test_what_would_be_lost_with_the_root_is_refused(self, tmp_path: Path) -> None:
        assert "Read-only" in sh("touch /model.pt", {"/gcs": tmp_path}).stderr

    def test_a_command_that_is_not_there_fails_as_in_a_shell(self, tmp_path: Path) -> None:
        done = subprocess.run(
            inside(("no-such-command",), {"/gcs": tmp_path}), capture_output=True, check=False
        )
        assert done.returncode == 127
        assert done.stderr == b"no-such-command: No such file or directory\n"

    @pytest.mark.skipif(os.getuid() != 0, reason="all the others run as an ordinary user already")
    def test_as_an_ordinary_user_whose_files_stay_his(self) -> None:
        if not os.access("/usr/bin/python3", os.X_OK):
            pytest.skip("no interpreter for another user")
        with tempfile.TemporaryDirectory() as folder:  # pytest's own are closed to others
            Path(folder).chmod(0o777)
            done = sh("id -u; touch /gcs/his", {"/gcs": Path(folder)}, user=65_534)
            assert done.stdout == "65534\n", done.stderr
            assert Path(folder, "his").stat().st_uid == 65_534

    def test_loopback_has_a_name_that_no_dns_server_is_asked_for(self, tmp_path: Path) -> None:
        asks = "import socket; print(socket.getnameinfo(('::ffff:127.0.0.1', 80), 0)[0])"
        seen = sh(f'{sys.executable} -c "{asks}"', {"/gcs": tmp_path})
        assert seen.stdout == "loopback\n", seen.stderr

    def test_names_of_hosts_stand_for_loopback(self, tmp_path: Path) -> None:
        asks = "import socket; print(socket.gethostbyname('algo-2'), socket.getfqdn('127.0.0.1'))"
        command = (sys.executable, "-c", asks)
        known = inside(command, {"/gcs": tmp_path}, hosts=["algo-1", "algo-2"])
        seen = subprocess.run(known, capture_output=True, text=True, check=False)
        assert seen.stdout == "127.0.0.1 localhost\n", seen.stderr

    def test_where_a_mount_fails_nothing_runs(self, tmp_path: Path) -> None:
        done = sh("echo it runs", {"/gcs": tmp_path / "missing"})
        assert done.returncode and not done.stdout
        assert str(tmp_path / "missing") in done.stderr
        from local_cloud.engine.isolation import namespace

        with pytest.raises(OSError, match="mount /nowhere"):
            namespace.mount("none", "/nowhere", "tmpfs", flags=0)

    def test_it_takes_little_time(self, tmp_path: Path) -> None:
        began = time.monotonic()
        for _ in range(5):
            assert sh("true", {"/gcs": tmp_path}).returncode == 0
        assert (time.monotonic() - began) / 5 < 0.5  # 0.025 s on an idle machine


@pytest.mark.parametrize("how", [pytest.param("namespace", marks=namespaces), "rewriting"])
def test_a_replica_finds_its_mounts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(mounts, "available", lambda: how == "namespace")
    data = tmp_path / "objects"
    (data / "bucket").mkdir(parents=True)
    (data / "bucket/in").write_text("hello")

    def staged(context: JobContext) -> Plan:
        code = "import os, sys; print(open(sys.argv[1][8:]).read());"
        code += "open(os.environ['OUT'], 'w').write('x')"
        command = (sys.executable, "-c", code, "--train=/gcs/bucket/in")
        return Plan((Replica("r0", command, {"OUT": "/gcs/bucket/out"}, mounts={"/gcs": data}),))

    async def story() -> None:
        async with engine(tmp_path, Cloud(a=staged)) as here:
            here.submit("cloud", "a", 1)
            job = await until(here, "a")
            assert job.state is State.SUCCEEDED, here.log("a", "r0").read_text()
            assert here.log("a", "r0").read_text() == "hello\n"
            assert (data / "bucket/out").read_text() == "x"

    run(story())


@namespaces
def test_what_leaves_its_environment_behind_still_ends_with_its_job(tmp_path: Path) -> None:
    """A process of another group and session, with no environment, is found by its namespace."""
    code = (
        "import os\nread, write = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n"
        "    os.write(write, str(os.getpid()).encode())\n"
        "    os.execve('/bin/sleep', ['sleep', '60'], {})\nprint(os.read(read, 20).decode())\n"
    )
    (data := tmp_path / "objects").mkdir()
    command = (sys.executable, "-c", code)
    plan = Plan((Replica("r0", command, {}, mounts={"/gcs": data}),))

    async def story() -> None:
        async with engine(tmp_path / "with a blank", Cloud(a=plan)) as here:
            here.submit("cloud", "a", 1)
            assert (await until(here, "a")).state is State.SUCCEEDED
            assert not alive(int(here.log("a", "r0").read_text()))

    run(story())


class TestRewrite:
    @pytest.mark.parametrize(
        ("text", "rewritten"),
        [
            ("/gcs/b/x", "/data/cloud/b/x"),
            ("/gcs", "/data/cloud"),
            ("--train=/gcs/b/x", "--train=/data/cloud/b/x"),
            ("/gcs/a:/gcs/b", "/data/cloud/a:/data/cloud/b"),
            ("pip install /gcs/b/x.tar.gz && ls '/gcs/b'", None),
            ('{"path": "/gcs/b"}', '{"path": "/data/cloud/b"}'),
        ],
    )
    def test_where_a_path_begins(self, text: str, rewritten: str | None) -> None:
        assert rewrite(text, GCS) == (rewritten or text.replace("/gcs", "/data/cloud"))

    @pytest.mark.parametrize(
        "text",
        ["/mygcs/x", "/gcsx", "/gcs.old/x", "/gcs-2", "gs://gcs/x", "a/gcs/x", "//gcs/x", "$X/gcs"],
    )
    def test_not_elsewhere(self, text: str) -> None:
        assert rewrite(text, GCS) == text

    def test_the_longest_mount_counts(self) -> None:
        both = {"/opt": Path("/a"), "/opt/ml": Path("/b"), "/opt/ml/x/": Path("/c")}
        assert rewrite("/opt/ml/x/1 /opt/ml/2 /opt/3", both) == "/c/1 /b/2 /a/3"

    @given(st.text())
    def test_text_without_the_path_stays(self, text: str) -> None:
        text = text.replace("/gcs", "")
        assert "/gcs" in text or rewrite(text, GCS) == text
        assert rewrite(text, {}) == text

    @given(
        st.sampled_from(["", "--a=", " ", "x:", "'", '"', "(", "a,"]),
        st.text(st.characters(exclude_characters="/")),
    )
    def test_a_path_below_the_mount_becomes_one_below_the_folder(
        self, before: str, rest: str
    ) -> None:
        assert rewrite(f"{before}/gcs/{rest}", GCS) == f"{before}/data/cloud/{rest}"

    @given(st.text(), st.text())
    def test_a_letter_on_either_side_makes_it_another_path(self, before: str, after: str) -> None:
        before, after = before.replace("/gcs", ""), after.replace("/gcs", "")
        for text in (f"{before}x/gcs{after}", f"{before}/gcsx{after}"):
            assert len(re.findall("/gcs", text)) != 1 or rewrite(text, GCS) == text
