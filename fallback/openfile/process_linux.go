package openfile

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/proc"
)

// What /proc tells of processes.

func procDir(pid int) string { return "/proc/" + strconv.Itoa(pid) }

// isZombie reports whether a process has ended, with all its threads. It has no descriptors any more, which only root
// may see.
func isZombie(pid int) bool {
	s, err := proc.ReadStat(pid)
	return err == nil && s.IsDead()
}

// hasLostFirstThread reports whether a process goes on without its first thread.
func hasLostFirstThread(pid int) bool {
	s, err := proc.ReadStat(pid)
	return err == nil && s.State == 'Z' && !s.IsDead()
}

// isHidden reports whether a process lives that /proc does not show, as with the mount option hidepid.
func isHidden(pid int) bool {
	if _, err := os.Stat(procDir(pid)); err == nil {
		return false
	}
	return unix.Kill(pid, 0) != unix.ESRCH
}

// isProtected reports whether a process may not be looked into by its own user, because it has had other rights: then
// its files in /proc are root's, but for the directories that everybody may read (fs/proc/base.c, task_dump_owner).
func isProtected(pid int, is status) bool {
	var of unix.Stat_t
	err := unix.Stat(procDir(pid)+"/fd", &of)
	return err == nil && len(is.users) > 1 && strconv.Itoa(int(of.Uid)) != is.users[1]
}

// HidesProcesses reports whether /proc is mounted with hidepid, so that it does not show the processes of other users.
func (*Table) HidesProcesses() bool {
	mounts, _ := os.ReadFile("/proc/self/mounts")
	hides := true // what is not known counts as hidden
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[1] != "/proc" {
			continue
		}
		hides = slices.ContainsFunc(strings.Split(fields[3], ","), func(option string) bool {
			value, is := strings.CutPrefix(option, "hidepid=")
			return is && value != "0" && value != "off"
		})
	}
	return hides
}

// A status is what is read from proc_pid_status(5).
type status struct {
	state    string
	users    []string // real, effective, saved, filesystem
	groups   []string // the same
	threads  string
	switches string // context switches, voluntary and not; "": the system does not count them
}

func readStatus(dir string) (s status, err error) {
	text, err := proc.ReadSmall(dir + "/status")
	if err != nil {
		return s, err
	}
	s = status{
		state:    proc.Field(text, "State"),
		users:    strings.Fields(proc.Field(text, "Uid")),
		groups:   strings.Fields(proc.Field(text, "Gid")),
		threads:  proc.Field(text, "Threads"),
		switches: proc.Field(text, "voluntary_ctxt_switches"),
	}
	if s.switches != "" {
		s.switches += " " + proc.Field(text, "nonvoluntary_ctxt_switches")
	}
	return s, nil
}

// A rest is the sleep of a process: of each thread how often it has run. Two that are equal are one sleep, in which the
// process has changed nothing.
type rest []string

// restOf returns the rest of a process, nil if one of its threads runs.
func restOf(pid int) (r rest) {
	dir := procDir(pid)
	first, err := readStatus(dir)
	switch {
	case err != nil, !first.sleeps():
		return nil
	case first.threads == "1":
		return rest{first.switches}
	}
	threads, _ := proc.Numbers(dir + "/task")
	for _, thread := range threads {
		s, err := readStatus(dir + "/task/" + strconv.Itoa(thread))
		if err != nil || !s.sleeps() {
			return nil
		}
		r = append(r, strconv.Itoa(thread)+" "+s.switches)
	}
	return r
}

// sleeps reports whether a thread sleeps, is stopped, or has ended, and the system counts how often it has run.
func (s status) sleeps() bool {
	return s.switches != "" && s.state != "" && strings.Contains("SDTtZX", s.state[:1])
}
