"""Tells setuptools where the packages lie; everything else is in pyproject.toml.

In the repository `games/` and `conf/` stand at the top, where people look for them. Installed, they
are `azcore.games` and `azcore.conf`: names as common as `games` and `conf` would clash with those
of other projects. Editable installs follow the same mapping (setuptools' default mode only).
"""

from setuptools import find_namespace_packages, find_packages, setup

MOVED = {  # folder at the top: how its packages are found
    "games": find_packages,
    "conf": find_namespace_packages,  # folders of YAML have no __init__.py
}

packages = find_packages(include=["azcore", "azcore.*"])
for folder, find in MOVED.items():
    packages.append(f"azcore.{folder}")
    packages.extend(f"azcore.{folder}.{name}" for name in find(folder))

setup(
    packages=packages,
    include_package_data=False,  # package_data says it all
    package_dir={"azcore": "azcore", **{f"azcore.{folder}": folder for folder in MOVED}},
    package_data={
        "azcore": [
            "py.typed",
            "**/*.html",
            "**/*.js",
            "**/*.mjs",
            "**/*.css",
            "web/static/texts/*.json",
            "commands/new/package-template/**/*",
            "commands/new/package-template-plain/**/*",
        ],
        "azcore.conf": ["**/*.yaml"],
        "azcore.games": ["*/pretrained/**/*", "*/texts/*.json"],
    },
)
