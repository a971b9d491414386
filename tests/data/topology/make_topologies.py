#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the hwloc topologies of this folder: lstopo's synthetic machines with PCI devices hung in.

Run it here after a change; it needs lstopo (package hwloc). The files are committed, so tests do not.
"""
import subprocess
import xml.etree.ElementTree as ET

GPU, VGA = "0302 [10de:2335] [10de:18be] a1", "0300 [1a03:2000] [1a03:2000] 41"

# name: (synthetic description, {type of parent and its number in document order: [(PCI bus id, class)]})
TOPOLOGIES = {
    "both_sockets": ("package:2 numa:1 l3:1 core:4 pu:2",
                     {("Package", 0): [("0000:03:00.0", VGA), ("0000:18:00.0", GPU)],
                      ("Package", 1): [("0000:af:00.0", GPU)]}),
    "one_socket": ("package:2 numa:1 l3:1 core:4 pu:1",
                   {("Package", 1): [("0000:af:00.0", GPU), ("0000:d8:00.0", GPU)]}),
    "numa_groups": ("package:2 group:2 [numa(indexes=0,8,1,9)] core:2 pu:1",
                    {("Group", 1): [("0000:41:00.0", GPU)],
                     ("Group", 2): [("0001:01:00.0", GPU)],
                     ("Package", 1): [("0002:01:00.0", GPU)]}),
    "l3_slices": ("package:1 [numa] l3:4 core:2 pu:2",
                  {("L3Cache", 2): [("0000:c1:00.0", GPU)]}),
    "unknown_place": ("package:2 numa:1 core:2 pu:1", {("Machine", 0): [("0000:05:00.0", GPU)]}),
}
# For packages: synthetic machines have no model names.
CPU_MODELS = {"both_sockets": "Example CPU @ 2.40GHz"}


def bridge(bus_id, pci_class, number):
    """A host bridge with one PCI device below it."""
    domain, bus, _ = bus_id.split(":")
    top = ET.Element("object", type="Bridge", gp_index=str(number), bridge_type="0-1", depth="0",
                     bridge_pci=f"{domain}:[{bus}-{bus}]")
    ET.SubElement(top, "object", type="PCIDev", gp_index=str(number + 1), pci_busid=bus_id, pci_type=pci_class,
                  pci_link_speed="31.507692")
    return top


for name, (synthetic, devices) in TOPOLOGIES.items():
    xml = subprocess.run(["lstopo", "-i", synthetic, "--of", "xml"], check=True, capture_output=True,
                         text=True).stdout
    root = ET.fromstring(xml)
    if name in CPU_MODELS:
        for package in [o for o in root.iter("object") if o.get("type") == "Package"]:
            package.insert(0, ET.Element("info", name="CPUModel", value=CPU_MODELS[name]))
    number = 1000
    for (kind, place), below in devices.items():
        parent = [o for o in root.iter("object") if o.get("type") == kind][place]
        for bus_id, pci_class in below:
            parent.append(bridge(bus_id, pci_class, number))
            number += 2
    ET.indent(root)
    with open(name + ".xml", "w", encoding="utf-8") as out:
        out.write('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n')
        out.write(ET.tostring(root, encoding="unicode") + "\n")
