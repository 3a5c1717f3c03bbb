# SPDX-License-Identifier: GPL-2.0
"""A virtual machine with Secure Boot, of what Debian has for one: OVMF as firmware, which knows
Microsoft's keys and runs nothing that is not signed, shim and GRUB, and a person at the console.
"""

import os

PASSWORD = "enrol-freeblock"
DOWN = "\x1b[B"
ENTER = "\r"
# What a person sees, one after the other, and answers: MokManager's blue screen, at the boot after
# mokutil was told the password (guest.sh)
ENROL = (("Press any key to perform MOK management", ENTER),
         ("Enroll MOK", DOWN + ENTER),      # below "Continue boot"
         ("View key 0", DOWN + ENTER),      # above "Continue"
         ("Enroll the key(s)?", DOWN + ENTER),  # "No" is above "Yes"
         ("Password:", PASSWORD + ENTER),
         ("Reboot", ENTER))
GRUB_CFG = """linux /vmlinuz %s
initrd /initrd
boot
"""
# Of the EFI partition, and of the packages
PROGRAMS = {"BOOTX64.EFI": "usr/lib/shim/shimx64.efi.signed",
            "mmx64.efi": "usr/lib/shim/mmx64.efi.signed",
            "grubx64.efi": "usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed"}
CODE, VARIABLES = "usr/share/OVMF/OVMF_CODE_4M.ms.fd", "usr/share/OVMF/OVMF_VARS_4M.ms.fd"


class Typist:
    """Who presses keys when they are asked for, at a console that goes into a file. Between a
    question and its answer lies a look: who asks may forget what was typed before."""

    def __init__(self, answers):
        self.answers = list(answers)
        self.read = 0
        self.asked = False

    def look(self, console, keys):
        """Answer the question that had been asked at the last look."""
        if not self.answers:
            return
        question, answer = self.answers[0]
        if self.asked:
            keys.write(answer.encode())
            keys.flush()
            del self.answers[0]
            self.asked = False
            return
        with open(console, "rb") as file:
            found = file.read().find(question.encode(), self.read)
        if found >= 0:
            self.read, self.asked = found + len(question), True


def commands(root, folder, append):
    """A shell's commands: the EFI partition of a machine, and its firmware with the variables as
    they leave the factory, in a folder; the kernel that boots is the folder's."""
    firmware = root + "/root/firmware/"
    lines = ["rm -rf efi code.fd variables.fd", "mkdir -p efi/EFI/BOOT efi/EFI/debian"]
    lines += ["cp '%s%s' efi/EFI/BOOT/%s" % (firmware, source, name)
              for name, source in PROGRAMS.items()]
    lines += ["cp '%s%s' code.fd" % (firmware, CODE), "cp '%s%s' variables.fd" % (
        firmware, VARIABLES), "cp vmlinuz initrd efi",
        "printf '%s' > efi/EFI/debian/grub.cfg" % (GRUB_CFG % append).replace("\n", "\\n")]
    return "cd '%s' && %s" % (folder, " && ".join(lines))


def machine(folder):
    """QEMU's words for it: System Management Mode guards the variables from the kernel."""
    return ["-machine", "q35,smm=on", "-smp", "1", "-vga", "std",
            "-global", "driver=cfi.pflash01,property=secure,value=on",
            "-drive", "if=pflash,unit=0,format=raw,readonly=on,file=" +
            os.path.join(folder, "code.fd"),
            "-drive", "if=pflash,unit=1,format=raw,file=" + os.path.join(folder, "variables.fd"),
            "-drive", "if=virtio,format=raw,readonly=on,file=fat:" + os.path.join(folder, "efi")]
