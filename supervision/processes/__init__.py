"""Several server processes on one machine: the parent of `troupe serve --processes N`.

    numbers.py    how many processes there are, their names, and the settings with which they can't work together
    parent.py     the parent: it starts the processes, stops them in order, and serves nothing itself
    program.py    a program that is started again when it ends, until it ends too often
    attached.py   the script that becomes such a program, which the kernel ends when the parent has died
    reports.py    how the processes say that they are ready, and that their event loops still work
    broker.py     the nats-server through which the processes talk, if no `bus_url` is set

The parent holds what only one process may hold: the lock of its name on the data folder, the listening sockets, the log
file, and the notifications of systemd. It is also a user of the embedded PostgreSQL, so that PostgreSQL goes on while
all other processes restart.

All processes accept connections on the same listening sockets, which the parent has bound or got from systemd. They are
passed on as systemd does it (sd_listen_fds(3)). So a client that connects while a process restarts waits in the
queue of the socket and is served by another process. With SO_REUSEPORT, which was turned down, each process has a queue
of its own, and the clients in the queue of a process that is killed are reset.

Each process writes its log as JSON into a pipe, and the parent writes these records with the name of the node, in
whole lines, into the output that the settings name. So only the parent rotates the log file.

The processes are in sessions of their own: Ctrl-C reaches the parent alone, which passes it on.
"""
