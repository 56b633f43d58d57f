"""The process and its machine: signals, listeners, memory, disks, stalls of the loop, the service manager."""
