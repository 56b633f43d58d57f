"""The checks of a build before its release, with a tiny package of the same shape."""

from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

from .making import built_twice
from .refusal import ReleaseRefused
from .repository import Repository

VERSION = Version("0.2.0")
MAIN = f"def main() -> None:\n    print('troupe, version {VERSION}')\n"
#: The files of the package, which can be released.
FILES = {
    "pyproject.toml": """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "troupe-server"
dynamic = ["version"]
readme = "README.md"
[tool.setuptools]
packages = ["troupe", "troupe.supervision"]
package-dir = { troupe = "." }
[tool.setuptools.dynamic]
version = { attr = "troupe.__version__" }
""",
    "MANIFEST.in": "include MANIFEST.in requirements.lock",
    "requirements.lock": f"setuptools=={version('setuptools')} \\\n",
    "LICENSE": "Free",
    "README.md": "Tea",
    "__init__.py": f'__version__ = "{VERSION}"\n',
    "supervision/__init__.py": "",
    "supervision/commands.py": MAIN,
}
#: An `__init__.py` that changes the description in a wheel if a condition is true.
DESCRIBED = """
import sys
from pathlib import Path
__version__ = str("0.2.0")
if "bdist_wheel" in sys.argv and {}:
    Path("README.md").write_text("Soup")
"""


def build(folder: Path, **changed: str) -> None:
    """Commit the package with other texts of files, and build it as for a release."""
    repository = Repository(folder)
    for name, text in {**FILES, **changed}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    repository.git("init", "--quiet")
    repository.git("add", "--all")
    repository.git("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "--quiet", "--message", "Tea")
    with built_twice(repository, "HEAD", VERSION):
        pass


def test_a_package_without_a_fault_is_built(tmp_path: Path) -> None:
    build(tmp_path, **{"__init__.py": DESCRIBED.format("False")})


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("soup.txt", "", r"tar\.gz lacks soup\.txt\."),
        ("supervision/commands.py", MAIN.replace("0.2.0", "0.1.0"), r"printed 'troupe, version 0\.1\.0"),
        ("supervision/commands.py", "raise SystemExit('no soup')", "printed '' no soup"),
        ("__init__.py", DESCRIBED.format("Path.cwd().parent.name == 'second build'"), r"whl differ, in .*METADATA"),
        ("__init__.py", DESCRIBED.format("Path('PKG-INFO').exists()"), r"whl differ, in .*METADATA"),
    ],
)
def test_a_package_with_a_fault_is_refused(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(ReleaseRefused, match=said):
        build(tmp_path, **{name: text})
