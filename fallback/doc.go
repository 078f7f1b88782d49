// Package fallback locks files on systems and filesystems that have no locks of their own: exclusively, shared, or with a
// limited number of permits, each lock following the life of a process or of an open file.
//
// You may use it if all who lock the file use it, if they may rename files in the directory of the file, and if that
// directory is on a local filesystem, on NFS or on SMB. Then an exclusive holder is alone, there are never more holders of
// permits than allowed, and a lock whose owner has died, at whatever moment, is free for the next contender and for exactly
// one of them. No lock is judged by its age.
//
// You must not use it beside kernel locks of the same file, on directories that are synchronized rather than shared, where
// a cleaner of old files runs, or where nobody can remove by hand what a machine that never comes back has held.
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
// A contender is a process that asks for the lock; an owner is the process, or the open file, that has it.
//
// # What it does not promise
//
// It does not promise an order among waiters, though mostly the first to come is the first to get it, nor that a stream of
// shared holders ever lets an exclusive one in; flock(2) promises neither. A conversion is not atomic: an upgrade that has
// to wait gives up its shared lock first.
//
// Within one process each Lock is a holder of its own: goroutines with a Lock each exclude each other, and an Unlock frees
// what this Lock has.
//
// # What it needs
//
//   - A directory beside the locked file, or elsewhere (StateDir), that every contender may read, write and search. Whoever
//     may write there, or rename it, can also hold the lock for ever, or break it.
//   - That nothing else removes files there, as cleaners of old files do in /tmp. Once the file that holds the state is
//     removed (the token, see below), every call returns an error until the directory is removed. Once the directory is
//     removed too, a second owner gets in.
//   - mkdir, rename, readdir and unlink, with rename atomic: of two processes that rename the same name, one succeeds. Any
//     local filesystem will do, NFS 3 and 4, SMB, and a share of them that several clients and the server itself use.
//   - File names of up to 255 bytes, in which "%", "," and "~" may occur. Most are under 130.
//
// # Where it must not be used
//
//   - On directories that are synchronized between machines rather than shared (Dropbox, rsync, Syncthing), where both
//     sides can rename the same name, and on overlay filesystems whose layers are written to elsewhere at the same time.
//   - Between contenders that use it and others that use the kernel's locks. All must do the same.
//   - Where several machines that are copies of one snapshot, with the same boot id, share a filesystem: each takes the
//     processes of the others for its own.
//
// # How it works
//
// In the state directory is always exactly one token, an empty file whose name is the state: "free", "busy,ID" while ID
// changes who holds the lock, "excl,ID" while ID holds it exclusively. Beside it stands "shared,ID" or "permit,ID" for
// every holder of that kind. A name with an ID is a record. An ID (process id, start time, machine, boot, a random number)
// never comes twice, and so a rename of a name with an ID is a compare-and-swap: it fails if anything has happened to the
// token since it was looked at. To take over from the dead is to rename their token, by name. The usual recipes for stale
// locks remove a name that can stand for another lock by then.
//
//	take       free -> busy,ME
//	steal      busy,X or excl,X -> busy,ME, X being dead
//	exclusive  take or steal, no living holder: busy,ME -> excl,ME; otherwise busy,ME -> free, wait
//	shared     take or steal, create shared,ME, busy,ME -> free; if that fails, remove shared,ME
//	at once    on a local filesystem: create shared,ME while the token is free; if then it is not any more, remove shared,ME
//	release    excl,ME -> free, or remove shared,ME
//	again      excl,ME -> excl,ME' when we have it already: somebody may be about to steal the old name
//	downgrade  create shared,ME, excl,ME -> free
//	upgrade    exclusive, and then remove shared,ME
//
// The ID of a busy token names the process that makes the moves; those of the other names the owner of the lock.
//
// Who waits has the name "wait,ID", of which the moves know nothing. Where no more than so many may wait, each takes a
// permit of another lock, whose state directory is "queue" in this one (OfQueue).
//
// # Whose lock it is
//
// The owner of a lock is a process, as for a Lock that Open makes, or an open file (OfFile): then the lock lasts until the
// last process that has the open file closes it. The open file carries a mark, a status flag that Linux keeps exactly that
// long, and shows in /proc/PID/fdinfo; see package openfile. The ID of such a lock names the mark, and a process and
// descriptor number at which others look first. If the open file is not there, they look into all processes, and the first
// who finds it renames the record for the descriptor where it is, unless a shell has it there for a while only. One open
// file answers for at most one ID. The same flag, set for another reason, can make a lock look held. And if a shell puts an
// open file that is marked so under the number of a lock, whoever has that open file takes the lock for its own.
//
// # Who is alive
//
// A process is judged from the machine that it runs on only. One on another machine, or in another pid namespace, counts
// as alive, and errors say so. The processes of an earlier boot of this machine are dead. It is recognised where name and
// identity of the machine are known and the same, and both the owner and who looks run outside of containers, in the
// initial pid namespace.
//
//	system                 start time of a process        boot id              identity of the machine
//	Linux                  /proc/PID/stat, a zombie       boot_id              machine-id(5)
//	                       counts as dead
//	macOS                  kinfo_proc, likewise           kern.bootsessionuuid none
//	Windows                creation time                  not needed           MachineGuid
//	other Unix, Plan 9     none: the id alone             none                 none
//
// With the id alone, a lock left by a dead process looks held for as long as another process has the same id: it can
// block, it cannot let two in. On Linux without a /proc of one's own pid namespace not even the id says anything, and
// Open answers an error.
//
// In all other cases, such as after a restart under another name, in a container, or without an identity of the machine,
// a lock left by an earlier boot looks held by another machine, and somebody has to remove it. To take it over is not safe:
// two machines can both be called "localhost", or be copies of one disk.
//
// # Waiting
//
// A waiter sleeps until something happens. Whoever waits has a name "wait,ID" in the state directory, whose last part
// tells when it came; by it the waiters of one machine know their order. The eldest three for each mode watch the processes
// of the holders, and try when something has happened, each a millisecond after the one before it. Each of the others
// watches the third waiter before it, and is among the eldest when that has left the line or is stopped; and one of them
// looks about each second, should the eldest be frozen. Where all processes are to be searched, whoever comes later leaves
// that to the eldest, for a second. A lock that comes free goes to the eldest, unless somebody comes at that moment, or the
// eldest is stopped.
//
//	                  somebody releases         a holder ends      it closes the file
//	Linux             writes to our "wait,ID",  pidfd_open(2)      inotify(7)
//	                  which is a FIFO
//	without FIFOs     inotify(7)                pidfd_open(2)      inotify(7)
//	macOS, BSD        kqueue(2)                 kqueue(2)
//	Windows           change notification       process handle
//	others            looks                     looks
//
// Without events, or when their limits are used up, a waiter looks after 1 ms, and then less and less often: every 16 ms
// if it is alone, and all waiters together about every 4 ms if there are many, each about twice a second.
//
// What no event tells, such as the release by another machine, is found by a look within two seconds. While machines wait
// for each other, whoever sees an older waiter of another machine lets it go first.
//
// All this is a matter of speed. Whether somebody has the lock is decided by the token only.
package fallback
