// Package fallback locks files on systems and filesystems that have no locks of their own: exclusively, shared, or with
// a limited number of permits.
//
// You may use it if all who lock the file use it, if they may write in the directory of the file and in the state
// directory that the first of them makes there, and if that is on a filesystem that has FIFOs: any local one, and NFS.
// Then an exclusive holder is alone, there are never more holders of permits than allowed, and a lock whose last holder
// has died, at whatever moment, is free at once for whoever can see that: in the same kernel, by the same mount and,
// for the lock of an open file, in the same pid namespace. For the others it stays held. No lock is judged by its age.
//
// You must not use it beside kernel locks of the same file, on directories that are synchronized rather than shared
// (Dropbox, rsync), on machines that are copies of one running snapshot or of one disk image with one name, or where
// nobody can remove by hand what a machine that is gone for good has held.
//
// The lock of an open file (OpenFile) promises less. A search for the open file can miss it on its way from one process
// to another through a socket, and passes over processes that their own user may not look into, such as a set-user-id
// child: if only such a process has it, the lock counts as free. And a process that has locked two open files of one
// file, and has closed or moved one of them, keeps both locks, so also two permits, until it has closed both.
//
// Open, Lock and Unlock are all that most programs need:
//
//	lock, err := fallback.Open("counter")
//	if err != nil {
//		return err
//	}
//	if err := lock.Lock(ctx); err != nil {
//		return err // errors.Is(err, fallback.ErrLocked): after the deadline; it says who has the lock
//	}
//	defer lock.Unlock()
//
// It promises no order among waiters, though mostly the first to come is the first to get it. An upgrade that has to
// wait gives up its shared lock first. Each Lock of one process is a holder of its own.
//
// # The idea
//
// A holder keeps a FIFO open, its lifeline, in a directory beside the file. Anybody can ask the kernel whether a FIFO
// still has a reader: open(2) for writing only, without waiting, fails with ENXIO if it has none. That is exact, for
// whatever way the last one has gone, and in all pid namespaces of a kernel that show one boot id (LXC and
// systemd-nspawn(1) give each container its own). Who inherits the lifeline has the lock, too; and poll(2) tells a
// waiter when the last one is gone. On Windows it is a named event, which is there as long as somebody has a handle.
//
// # What is believed
//
// What a contender has not seen for itself counts as held, and what it says about others is only what it knows. A
// lifeline is asked only about an owner in the same kernel that sees the directory by the same mount, because a FIFO
// lives in one of each, or by a mount that is gone: then nobody has a FIFO there. That is known only if the kernel knew
// its device number when the record was written. Any other owner counts as alive, and errors name it, unless it is of
// an earlier boot of this machine: that is known where the host name and the machine-id (on macOS the number of the
// hardware) are the same, outside of containers. A contender that cannot tell is refused.
//
// # The names
//
// All that is known is in the names of the state directory, of FIFOs all, which "find -type f" and systemd-tmpfiles(8)
// pass over. An ID never comes twice: version, time of arrival, process id, a random number; then the user and its
// group, and the machine: host, machine-id(5), boot, pid namespace, device of the directory. The numbers of processes
// and namespaces do come again, so the start of a process, and that of process 1 of a namespace, stand beside them.
//
//	free | busy,ID           the token, one name that is renamed: who has it may change who holds the lock
//	new,ID                   a lifeline that is not open yet, or that was released by a process which has inherited it
//	wait,ID@MODE             the lifeline of a waiter, which is its bell, too
//	excl,ID                  the lifeline of a holder; also shared,ID and permit,ID@NUMBER
//	excl,ID@PLACE            no lifeline: the holder is an open file, see below; also permit,ID@NUMBER@PLACE
//
// An ID begins with the version of the names. Whoever finds a holder or a busy token of another version refuses the
// lock; the free token has none, so a directory that nobody uses serves all versions. The number of a permit is chosen
// with the token, the lowest that no holder has after the dead are removed; one that is in doubt has its own.
//
// # The moves
//
//	come       make new,ME, open it, rename it to wait,ME
//	look       list the names: does a holder that lives keep us out?
//	take       rename free to busy,ME; or busy,X to busy,ME, if the lifeline of X is dead
//	enter      with the token: ask our own lifeline, as others will: if it does not answer, no lifeline does here;
//	           remove the dead; if nobody keeps us out, rename wait,ME to excl,ME; then busy,ME to free: that this
//	           succeeds is the acquisition
//	release    close the lifeline; if nobody else has it, remove its name
//	discard    with the token, if nobody else is there: rename the directory away, and remove it. A thief of the token
//	           opens the path anew first, so nobody enters by a directory that was moved
//
// Only who has the token adds a holder or removes a dead one. A name with an ID is unique in history, so to rename it
// is a compare-and-swap, and the token of a dead owner goes to exactly one thief. That an owner is dead is final. So
// whoever dies anywhere leaves names without readers, which the next contender removes. An operation that fails is like
// a death: the token is put back if that is possible, and the lifeline is closed, but keeps its name.
//
// Who has inherited a lifeline converts the lock with a contender of its own, which takes the token and renames the
// lifeline, and releases it by a rename. It does not unlink it, or that could never have the lock again.
//
// # Waiting
//
// Each waiter watches the lifeline of the one before it, which becomes the holder's: a hand-over wakes one process. The
// first one watches what keeps it out. Who has entered shared rings the next one that wants to share, and who releases
// shared the first, by a byte in its FIFO. Whatever is missed is found by a look each second, behind the first eight
// each ten. Between machines nothing else tells. Only Linux and FreeBSD tell the end of a lifeline. Elsewhere who
// releases rings the first waiter, and each waiter asks about what it watches every 16 to 100 ms.
//
// # The lock of an open file
//
// flock(1) cannot leave a lifeline in the shell that calls it with a descriptor. There the open file itself has the
// lock (OpenFile, on Linux). A status flag that means nothing to files marks it; the kernel keeps that as long as
// somebody has the file, and shows it in /proc/PID/fdinfo. A signal number, by fcntl(F_SETSIG), tells it which record
// is its own. The record says in which process, under which number, the file was. A record is made before its mark, and
// goes after it.
//
// If the file is not there, all processes are searched. A search that finds nothing proves that the lock is free, if it
// has seen all who could have the file: for a record of another user, or of another group of the same user, no process
// of that one that was started later refused the look; for one of another pid namespace, the searcher is root. For a
// record of one's own user and group, processes that refuse are passed over: every login has some. A look into a
// process that may have inherited the file proves something if the process has slept through it; otherwise it is
// repeated. If the file is found, the record is renamed to say where. inotify(7) tells waiters when the file is closed.
package fallback
