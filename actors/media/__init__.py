"""Media: uploads are recognised, decoded in processes of their own, and stored by name.

A media process gives up all rights that it does not need before it reads an untrusted file (`confinement.py`). It can
run only `ffmpeg` and `ffprobe`, each confined in the same way, and the server checks every fact that the process
reports. If the machine lacks a means of confinement, the server uses the others and logs `confinement.incomplete` with
its first file, or half a minute after its start. Video and sound need `ffmpeg` on the machine (`apt install ffmpeg`);
without it they are refused. `decoders.py` has the library for each kind of picture.
"""
