"""A root and process numbers of a replica's own, on each of the levels that a machine may allow."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from local_cloud.engine import system
from local_cloud.engine.isolation import roots
from local_cloud.engine.isolation.roots import Isolation, Layout, Level
from local_cloud.engine.spec import JobContext, Plan, Replica, State
from local_cloud.store import trees
from tests.engine.support import (
    LONG,
    Cloud,
    alive,
    engine,
    gone,
    outside,
    run,
    until,
    until_there,
    written,
)

mounts_allowed = pytest.mark.skipif(not roots.available(), reason="this machine allows no mounts")
NOBODY = 65_534
ENDS = (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV)


@pytest.fixture(scope="module")
def allowed(tmp_path_factory: pytest.TempPathFactory) -> Isolation:
    """What this machine allows."""
    return Isolation.find(tmp_path_factory.mktemp("jobs"), ())


@pytest.fixture(params=[Level.OWN_ROOT, Level.READ_ONLY])
def level(request: pytest.FixtureRequest, allowed: Isolation) -> Isolation:
    """With a layer, if this machine allows one, and without."""
    if request.param is Level.OWN_ROOT and allowed.level is not Level.OWN_ROOT:
        pytest.skip("this machine allows no layer")
    return replace(allowed, level=request.param)


@pytest.fixture
def layer() -> Iterator[Path]:
    """A folder for layers that every user can read, other than pytest's own."""
    folder = Path(tempfile.mkdtemp())
    yield folder
    trees.remove(folder)  # as the engine does: an overlay leaves a folder that nobody may open
    assert not folder.exists()


def layout(
    isolation: Isolation, layer: Path, places: Mapping[str, Path], hosts: tuple[str, ...] = ()
) -> Layout:
    """What a replica sees with these mounts; layer: a folder for a new layer."""
    own = Path(tempfile.mkdtemp(dir=layer))
    return isolation.layout(own, shown=(), fixed=(), shared=places, hosts=hosts)


def sh(
    script: str, isolation: Isolation, layer: Path, places: Mapping[str, Path]
) -> subprocess.CompletedProcess[str]:
    """The script's result with these mounts."""
    command = layout(isolation, layer, places).inside(("sh", "-c", script))
    return subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)


@pytest.mark.skipif(
    not (system.LINUX and shutil.which("unshare")), reason="there are no mounts without unshare"
)
def test_a_machine_that_allows_mounts_is_seen_to_allow_them() -> None:
    """A fault in them would otherwise skip the tests below."""
    wanted = ["unshare", "--user", "--map-root-user", "--mount", "mount", "--bind", "/tmp", "/mnt"]
    assert roots.available() or subprocess.run(wanted, check=False).returncode


@mounts_allowed
class TestRoot:
    def test_a_folder_is_seen_at_a_path_that_this_machine_lacks(
        self, tmp_path: Path, layer: Path, level: Isolation
    ) -> None:
        (tmp_path / "in").write_text("hello")
        assert not Path("/gcs").exists()
        done = sh("cat /gcs/in; echo out > /gcs/out", level, layer, {"/gcs": tmp_path})
        assert done.stdout == "hello", done.stderr
        assert (tmp_path / "out").read_text() == "out\n"
        assert not Path("/gcs").exists()

    def test_several_deep_and_over_what_exists(
        self, tmp_path: Path, layer: Path, level: Isolation
    ) -> None:
        for name in ("a", "b", "c"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "file").write_text(name)
        places = {
            "/opt/ml": tmp_path / "a",
            "/no/such/path": tmp_path / "b",
            "/var/tmp": tmp_path / "c",
        }
        script = "cat /opt/ml/file /no/such/path/file /var/tmp/file; ls /opt /var"
        seen = sh(script, level, layer, places).stdout
        assert seen.startswith("abc")
        known = {*os.listdir("/opt"), *os.listdir("/var"), "ml"}
        assert known == {*seen[3:].split()} - {"/opt:", "/var:"}

    def test_the_users_and_the_folder_are_as_before(
        self, tmp_path: Path, layer: Path, level: Isolation
    ) -> None:
        script = "pwd; id -u; ls /usr /etc; cat /proc/self/cmdline | head -c 3"
        seen = sh(script, level, layer, {"/gcs": tmp_path}).stdout
        plain = subprocess.run(
            ["sh", "-c", script], cwd="/", capture_output=True, text=True, check=True
        )
        assert seen == plain.stdout

    def test_what_it_writes_elsewhere_is_its_own_or_refused(
        self, tmp_path: Path, layer: Path, level: Isolation
    ) -> None:
        script = "echo mine > /usr/local-cloud && cat /usr/local-cloud"
        done = sh(script, level, layer, {"/gcs": tmp_path})
        if level.level is Level.OWN_ROOT:
            assert done.stdout == "mine\n", done.stderr
        else:
            assert "Read-only file system" in done.stderr
        assert not Path("/usr/local-cloud").exists()
        assert sh("cat /usr/local-cloud", level, layer, {}).stdout == ""  # the next has another

    def test_its_temporary_folders_are_its_own(
        self, tmp_path: Path, layer: Path, level: Isolation
    ) -> None:
        (name := Path(tempfile.mkdtemp())).rmdir()
        folders = ("/tmp", "/var/tmp", "/dev/shm", "/run")
        script = " && ".join(f"ls -A {each} && touch {each}/{name.name}" for each in folders)
        done = sh(script, level, layer, {})
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert not any(Path(each, name.name).exists() for each in folders)

    def test_homes_are_empty(self, layer: Path, level: Isolation) -> None:
        (home := layer / "home").mkdir()
        (home / "key").write_text("secret")
        hides = replace(level, hidden=(*level.hidden, str(home)))
        assert sh(f"cat {home}/key", hides, layer, {}).stdout == ""
        assert sh(f"cat {home}/key", hides, layer, {str(home): home}).stdout == "secret"

    @pytest.mark.skipif(os.getuid() != 0, reason="all the others run as an ordinary user already")
    def test_as_an_ordinary_user_whose_files_stay_his(self, layer: Path, level: Isolation) -> None:
        """He gets a user namespace, in which he may put files into folders that are root's."""
        if not os.access("/usr/bin/python3", os.X_OK):
            pytest.skip("no interpreter for another user")
        (bucket := layer / "bucket").mkdir()
        for folder in (layer, bucket):
            folder.chmod(0o777)
        (inside := layer / "inside").mkdir()  # the launcher, where he can read it
        shutil.copytree(roots.LAUNCHER.parent, inside, dirs_exist_ok=True)
        words = layout(level, layer, {"/gcs": bucket})
        Path(words.layer).chmod(0o777)
        script = "id -u; touch /gcs/his; touch /etc/his && echo written"
        _, *flags, _, said, _, _, _ = words.inside(("sh", "-c", script))
        command = ("/usr/bin/python3", *flags, str(inside / "launcher.py"), said)
        done = subprocess.run(
            [*command, "sh", "-c", script], cwd="/", capture_output=True, text=True, check=False,
            user=NOBODY, group=NOBODY, extra_groups=[],
        )  # fmt: skip
        written = "written\n" if level.level is Level.OWN_ROOT else ""
        assert done.stdout == f"{NOBODY}\n{written}", done.stderr
        assert (bucket / "his").stat().st_uid == NOBODY
        assert not Path("/etc/his").exists()

    @pytest.mark.skipif(os.getuid() != 0, reason="all the others run as an ordinary user already")
    def test_a_network_of_an_ordinary_user_has_brought_a_user_namespace(
        self, layer: Path, level: Isolation
    ) -> None:
        """A forked replica has all permissions in it, and is not root for all that."""
        if not os.access("/usr/bin/python3", os.X_OK):
            pytest.skip("no interpreter for another user")
        layer.chmod(0o777)
        shutil.copytree(roots.LAUNCHER.parent, layer / "inside")  # where he can read it
        seen = Layout(f"{layer}/own", level.level is Level.OWN_ROOT, level.has_processes)
        code = (
            f"import json, os, sys; sys.path.insert(0, {str(layer / 'inside')!r})\n"
            "import launcher, network_namespace\nnetwork_namespace.own_network()\n"
            f"launcher.enter(json.loads({json.dumps(seen.document())!r}))\n"
            "print(open('/proc/mounts').read())\n"
        )
        words = ["/usr/bin/python3", "-I", "-S", "-c", code]
        done = subprocess.run(
            words, cwd="/", capture_output=True, text=True, check=False, user=NOBODY, group=NOBODY
        )
        overlays = [line for line in done.stdout.splitlines() if line.startswith("overlay ")]
        assert done.returncode == 0, done.stderr
        assert bool(overlays) == (level.level is Level.OWN_ROOT)
        assert all("userxattr" in line for line in overlays)

    def test_loopback_has_a_name_that_no_dns_server_is_asked_for(
        self, layer: Path, level: Isolation
    ) -> None:
        asks = "import socket; print(socket.getnameinfo(('::ffff:127.0.0.1', 80), 0)[0])"
        seen = sh(f'{sys.executable} -c "{asks}"', level, layer, {})
        assert seen.stdout == "loopback\n", seen.stderr

    def test_names_of_hosts_stand_for_loopback(self, layer: Path, level: Isolation) -> None:
        asks = "import socket; print(socket.gethostbyname('algo-2'), socket.getfqdn('127.0.0.1'))"
        known = layout(level, layer, {}, ("algo-1", "algo-2")).inside((sys.executable, "-c", asks))
        seen = subprocess.run(known, cwd="/", capture_output=True, text=True, check=False)
        assert seen.stdout == "127.0.0.1 localhost\n", seen.stderr

    def test_where_a_mount_fails_nothing_runs(self, layer: Path, level: Isolation) -> None:
        missing = layer / "missing"
        done = sh("echo it runs", level, layer, {"/gcs": missing})
        assert done.returncode == 1 and not done.stdout
        (line,) = done.stderr.splitlines()
        assert line.startswith("The replica cannot be started: ") and "/gcs" in line

    def test_a_command_that_is_not_there_fails_as_in_a_shell(
        self, layer: Path, level: Isolation
    ) -> None:
        command = layout(level, layer, {}).inside(("no-such-command",))
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
        assert done.returncode == 127
        (line,) = done.stderr.splitlines()
        assert line.startswith("The replica cannot be started: ")
        assert "No such file or directory" in line and "no-such-command" in line


@mounts_allowed
class TestProcesses:
    @pytest.fixture
    def own(self, allowed: Isolation) -> Isolation:
        if not allowed.has_processes:
            pytest.skip("this machine gives a replica no process numbers of its own")
        return allowed

    def begin(self, isolation: Isolation, layer: Path, code: str) -> subprocess.Popen[str]:
        """Start Python code with process numbers of its own; input and output are pipes."""
        command = layout(isolation, layer, {}).inside((sys.executable, "-u", "-c", code))
        return subprocess.Popen(
            command, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip

    def test_it_sees_its_own_alone(self, layer: Path, own: Isolation) -> None:
        code = "import os; print(sorted(int(n) for n in os.listdir('/proc') if n.isdigit()))"
        with self.begin(own, layer, f"{code}; print(os.getpid(), os.getsid(0))") as process:
            assert process.communicate()[0] == "[1, 2]\n2 2\n"

    @pytest.mark.parametrize("code", [0, 1, 77, 255])
    def test_the_exit_code_is_the_commands(self, layer: Path, own: Isolation, code: int) -> None:
        with self.begin(own, layer, f"import os; os._exit({code})") as process:
            assert process.wait() == code

    @pytest.mark.parametrize("number", ENDS, ids=lambda each: each.name)
    def test_the_signal_that_ends_the_command_is_the_one_that_is_seen(
        self, layer: Path, own: Isolation, number: signal.Signals
    ) -> None:
        code = f"import os, signal, time; os.kill(os.getpid(), {int(number)}); time.sleep({LONG})"
        with self.begin(own, layer, code) as process:
            assert process.wait() == -number

    def test_input_and_output_pass(self, layer: Path, own: Isolation) -> None:
        with self.begin(own, layer, "import sys; print(sys.stdin.read().upper())") as process:
            assert process.communicate("hello")[0] == "HELLO\n"

    def test_number_one_collects_what_ends(self, layer: Path, own: Isolation) -> None:
        """A process whose parent has ended would stay as a zombie otherwise."""
        code = """
import os, time
for _ in range(5):
    if os.fork() == 0:
        os.fork() or os._exit(0)
        os._exit(0)
    os.wait()
while (left := [n for n in os.listdir("/proc") if n.isdigit()]) != ["1", "2"]:
    time.sleep(0.01)
print(left)
"""
        with self.begin(own, layer, code) as process:
            assert process.communicate(timeout=LONG)[0] == "['1', '2']\n"

    def test_what_it_leaves_ends_with_it(self, layer: Path, own: Isolation) -> None:
        code = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
print("ready"); sys.stdin.read()
"""
        with self.begin(own, layer, code) as process:
            assert process.stdout and process.stdin
            process.stdout.readline()
            inside = members(process.pid)
            assert len(inside) == 3  # number 1, the command, and what it has started
            process.stdin.close()
            assert process.wait() == 0
            assert gone(*inside, within=5)

    def test_what_ends_the_waiting_process_ends_all(self, layer: Path, own: Isolation) -> None:
        with self.begin(own, layer, f"print('ready'); import time; time.sleep({LONG})") as process:
            assert process.stdout
            process.stdout.readline()
            inside = members(process.pid)
            assert len(inside) == 2
            process.kill()
            assert gone(*inside, within=5)

    def test_to_end_all_that_it_sees_harms_nobody_else(self, layer: Path, own: Isolation) -> None:
        with subprocess.Popen(["sleep", str(LONG)]) as other:
            code = "import os, time; os.fork() or time.sleep(60); os.kill(-1, 9); os.abort()"
            with self.begin(own, layer, code) as process:
                assert process.wait() == -signal.SIGABRT
            assert alive(other.pid)
            other.kill()


def members(waiting: int) -> list[int]:
    """The processes, by their numbers on this machine, inside what this one waits for."""
    (first,) = Path(f"/proc/{waiting}/task/{waiting}/children").read_text().split()
    space = os.readlink(f"/proc/{first}/ns/pid")
    assert space != os.readlink("/proc/self/ns/pid")
    processes = []
    for each in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            if os.readlink(f"/proc/{each}/ns/pid") == space:
                processes.append(each)
        except OSError:  # it has ended
            continue
    return processes


@pytest.mark.parametrize("wanted", list(Level))
def test_a_replica_finds_its_mounts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: Isolation, wanted: Level
) -> None:
    if wanted is not Level.UNPROTECTED and not roots.available():
        pytest.skip("this machine allows no mounts")
    if wanted is Level.OWN_ROOT and allowed.level is not Level.OWN_ROOT:
        pytest.skip("this machine allows no layer")
    if wanted is Level.UNPROTECTED:
        monkeypatch.setattr(roots, "available", lambda: False)
    else:
        monkeypatch.setattr(
            Isolation, "find", classmethod(lambda *_: replace(allowed, level=wanted))
        )
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


@mounts_allowed
def test_what_leaves_its_environment_behind_still_ends_with_its_job(tmp_path: Path) -> None:
    """A process of another group and session, with no environment, is found by its root."""
    go = tmp_path / "go"
    code = (
        "import os\nread, write = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n"
        "    os.write(write, str(os.getpid()).encode())\n"
        f"    os.execve('/bin/sleep', ['sleep', '60'], {{}})\nprint(os.read(read, 20).decode())\n"
        f"{until_there(go)}"
    )
    plan = Plan((Replica("r0", (sys.executable, "-c", code), {}),))

    async def story() -> None:
        async with engine(tmp_path / "with a blank", Cloud(a=plan)) as here:
            here.submit("cloud", "a", 1)
            pid = outside(log := here.log("a", "r0"), int((await written(log))[0]))
            go.touch()
            assert (await until(here, "a")).state is State.SUCCEEDED
            assert not alive(pid)

    run(story())
