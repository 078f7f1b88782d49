#!/usr/bin/env python3
"""commands_check.py README ROOT FLOCK: run every command of a package's README, in a shell.

ROOT has the files of the package; paths such as /usr/bin are below it here. sudo changes no user, and the jobs do nothing.
The programs of the backends reach no server: status 75 says that they accepted the command line. In the examples flock is
the program FLOCK; what the section Install puts into /usr/local/bin must run, too.
"""
import os
import re
import subprocess
import sys
import tempfile

readme, root, flock = sys.argv[1:]
root, flock = os.path.abspath(root), os.path.abspath(flock)
with open(readme, encoding="utf-8") as file:
    text = file.read()
sandbox = tempfile.TemporaryDirectory()
here = sandbox.name
os.makedirs(here + "/bin")
os.makedirs(here + "/work")
os.makedirs(here + "/dpkg")
os.makedirs(root + "/usr/local/bin", exist_ok=True)


def program(name, script=""):
    with open(f"{here}/bin/{name}", "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + script + "\n")
    os.chmod(f"{here}/bin/{name}", 0o755)


for job in ("mirror convert report flac server reload-all sleep backup update-storage robocopy backup.exe "
            "report.exe convert.exe send-alert.exe copy del").split():
    program(job)
for job in "mirror convert job script.sh".split():
    os.symlink("../bin/report", f"{here}/work/{job}")
for name, content in (("counter", "0\n"), ("a.wav", "")):
    with open(f"{here}/work/{name}", "w", encoding="utf-8") as file:
        file.write(content)
open(here + "/dpkg/status", "w", encoding="utf-8").close()
program("sudo", 'exec "$@"')
program("id", "echo 0")
program("etcdctl", "echo /flock/nightly/last")
program("psql", "echo 1")  # the token that was accepted
program("dpkg-divert", f'exec /usr/bin/dpkg-divert --admindir {here}/dpkg "$@"')
for backend in "flock-etcd", "flock-postgres":
    found = [path for path in (f"{root}/usr/bin/{backend}", f"{root}/{backend}") if os.path.exists(path)]
    program(backend, f'{found[0]} "$@" || [ $? = 75 ]' if found else "")  # or it is in another package
divert = root + "/usr/sbin/flock-go-divert"
if os.path.exists(divert):
    with open(divert, encoding="utf-8") as file:
        program("flock-go-divert", file.read().replace("/usr/", root + "/usr/"))
# Nobody has the lock, and no backend is reached.
program("flock", f"""case " $* " in
*" --holders "*) {flock} "$@" || [ $? = 1 ] ;;
*" --backend "*) {flock} "$@" || [ $? = 75 ] ;;
*) exec {flock} "$@" ;;
esac""")


def commands(block):
    """Return the commands of an indented block, or None if it is for no shell."""
    lines = block.splitlines()
    if "└─" in block:  # the picture of a backend's processes, and of its time
        return None
    if lines[0].startswith("$ "):  # a transcript; what a command prints goes on behind its end
        shown, opened = [], False
        for line in lines:
            if line.startswith("$ ") or opened:
                shown.append(line.removeprefix("$ "))
                opened = "\n".join(shown).count('"') % 2 == 1
        return "set +e\n" + "\n".join(shown)
    if "[Unit]" in lines or "[Service]" in lines:
        return "\n".join(line[10:] for line in lines if line.startswith("ExecStart=")) or None
    cron = [re.sub(r"^(\S+ ){5}([a-z]+ )?(?=/)", "", line) for line in lines if re.match(r"[*\d]\S* \S+ \* \* \* ", line)]
    if cron:
        return "\n".join(cron)
    if "cmd.exe" in text:  # what follows two blanks says what the command does
        return "\n".join(re.sub("   *.*", "", line) for line in lines)
    return block


def run(script, directory):
    path = f"{here}/work/script"
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nset -eu\n" + script)
    os.chmod(path, 0o755)
    env = {"PATH": f"{here}/bin:{root}/usr/bin:/usr/bin:/bin", "HOME": here, "FLOCK_TOKEN": "1",
           "ETCDCTL_ENDPOINTS": "127.0.0.1:1", "ETCDCTL_DIAL_TIMEOUT": "100ms",
           "PGHOST": "127.0.0.1", "PGPORT": "1", "PGDATABASE": "fleet", "PGCONNECT_TIMEOUT": "1"}
    return subprocess.run([path], cwd=directory, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300)


def prints_version(path):
    return subprocess.run([path, "--version"], stdout=subprocess.PIPE, text=True).stdout.startswith("flock")


failed = False
ran = 0
section, sections = "", {}
for part in re.split(r"((?:^(?:    .*)?\n)+)", text, flags=re.M):
    for heading in re.findall(r"^## (.*)", part, flags=re.M):
        section = heading
    if not part.strip() or not part.lstrip("\n").startswith("    "):
        continue
    block = re.sub(r"^    ", "", part.strip("\n"), flags=re.M) + "\n"
    script = commands(block)
    if script is None:
        continue
    for path, place in ((r"/usr/local/bin/(?=report|backup|update-storage|reload-all)", here + "/bin/"),
                        (r"/usr/bin/(?=flock-etcd|flock-postgres)", here + "/bin/"),
                        (r"/usr/local/bin/(?=flock-etcd|flock-postgres)", here + "/bin/"),
                        (r"/opt/|/etc/init\.d/", here + "/bin/"), (r"/var/run/", here + "/work/"),
                        (r"(?<!\S)/usr/", root + "/usr/")):
        script = re.sub(path, place, script)
    script = script.replace("-w 3600", "-w .2")  # the time for which a server is looked for
    sections[section] = sections.get(section, "") + block
    result = run(script, root if section == "Install" else here + "/work")
    ran += 1
    if result.returncode or re.search(r"not found|No such file|nrecognized|invalid", result.stdout):
        failed = True
        print(f"{readme}: status {result.returncode} of:\n{script}\nwhich printed:\n{result.stdout}", file=sys.stderr)

if not ran:
    failed = True
    print(f"{readme}: there are no commands", file=sys.stderr)
installed = [f"{root}/usr/local/bin/{name}" for name in os.listdir(root + "/usr/local/bin")]
if "/usr/local/bin" in sections.get("Install", "") and not installed or not all(map(prints_version, installed)):
    failed = True
    print(f"{readme}: after the commands of Install /usr/local/bin has {installed}", file=sys.stderr)
for page in set(re.findall(r"`man ([a-z-]+)`", text)):
    pages = [f"{root}/{place}/{page}.{number}" for place, number in
             (("man", "1"), ("usr/share/man/man1", "1.gz"), ("usr/share/man/man8", "8.gz"))]
    if not any(map(os.path.exists, pages)) and not (page == "flock" and text.startswith("# flock-")):
        failed = True
        print(f"{readme}: there is no manual page {page}", file=sys.stderr)
sys.exit(failed)
