# SPDX-License-Identifier: GPL-2.0
"""All files of a root, a line of JSON: {path: what it is}. Run in the root, by its own Python."""

import hashlib
import json
import os
import stat

# Nothing of a package's own is kept there but what dpkg and apt note about it
NOT_LOOKED_AT = ("/proc", "/sys", "/dev", "/run", "/tmp", "/root", "/var/log", "/var/cache",
                 "/var/lib/dpkg", "/var/lib/apt")
WHOLE_BYTES = 4 << 20   # of a longer file: its size


def told(path):
    """Kind, rights and owner of a file, and a digest."""
    found = os.lstat(path)
    # set-uid and the like do not outlive debugfs' rdump, by which the guest's disk is read
    words = [stat.filemode(found.st_mode & ~0o7000), "%d:%d" % (found.st_uid, found.st_gid)]
    if stat.S_ISLNK(found.st_mode):
        words.append(os.readlink(path))
    elif stat.S_ISREG(found.st_mode):
        words.append(str(found.st_size))
        if found.st_size <= WHOLE_BYTES:
            with open(path, "rb") as file:
                words.append(hashlib.sha1(file.read()).hexdigest())
    return " ".join(words)


def main():
    """Print them."""
    files = {}
    for folder, folders, names in os.walk("/"):
        folders[:] = [name for name in folders
                      if os.path.join(folder, name) not in NOT_LOOKED_AT]
        for name in folders + names:
            path = os.path.join(folder, name)
            files[path] = told(path)
    print(json.dumps(files))


main()
