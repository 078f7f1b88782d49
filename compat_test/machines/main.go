//go:build linux

// Command machines checks locks between machines: a server and two clients, which it boots. See run.sh, which starts
// it, in the directory that has the image, and in namespaces of its own. Usage:
//
//	machines SECONDS [CHECK]...
package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

var mounts = []struct{ name, path string }{{"NFS 4.2", "/nfs4"}, {"NFS 3", "/nfs3"}, {"SMB 3.1.1", "/smb"}}

// The programs that are compared, as they are called on the clients.
const (
	reference = "reference"
	ours      = "flock"
	directory = "env FLOCK_BACKEND=directory flock"
)

var programs = []struct{ name, call string }{{"util-linux", reference}, {"ours", ours}, {"directory", directory}}

var torture time.Duration

func check(err error) {
	if err != nil {
		log.Fatal("machines: ", err)
	}
}

func main() {
	log.SetFlags(log.Ltime)
	seconds, err := strconv.Atoi(os.Args[1])
	check(err)
	torture = time.Duration(seconds) * time.Second
	for _, m := range []*machine{server, c1, c2} {
		os.Remove(m.disk())
		check(exec.Command("mke2fs", "-q", "-t", "ext4", m.disk(), "256M").Run())
	}
	began := time.Now()
	boot(server, c1, c2)
	log.Printf("the machines are ready after %.0f s", time.Since(began).Seconds())

	t := &table{}
	for _, c := range checks {
		if len(os.Args) > 2 && !slices.Contains(os.Args[2:], c.name) {
			continue
		}
		log.Print(c.name)
		t.add(c)
	}
	fmt.Printf("%s, Linux %s, util-linux %s, %s\n\n", time.Now().Format(time.DateOnly), c1.must("uname -r"),
		strings.TrimPrefix(c1.must("reference --version"), "reference from util-linux "), c1.must("flock --version"))
	t.print()
	if t.failed > 0 {
		log.Fatalf("%d cells are not as they must be", t.failed)
	}
}

// A table has a row for each check, and a cell for each filesystem and program.
type table struct {
	rows   [][]string
	failed int
}

func (t *table) add(c row) {
	var scenes, asked []*scene
	for _, m := range mounts {
		for _, p := range programs {
			if slices.Contains(c.programs, p.call) {
				s := &scene{dir: fmt.Sprintf("%s/%s-%s-%s", m.path, m.path[1:], c.name, p.name), flock: p.call}
				server.must("mkdir -p /srv/disk/share/" + strings.TrimPrefix(s.dir, m.path))
				scenes = append(scenes, s)
				switch {
				case s.isRefused():
				case c.together:
					asked = append(asked, s)
				default:
					c.check(s)
				}
			}
		}
	}
	if c.together {
		c.check(asked...)
	}
	cells := []string{c.text}
	for _, m := range mounts {
		for _, p := range programs {
			if !slices.Contains(c.programs, p.call) {
				cells = append(cells, "")
				continue
			}
			s := scenes[0]
			scenes = scenes[1:]
			cell := s.result
			if len(s.faults) > 0 {
				cell = "**" + strings.Join(s.faults, "; ") + "**"
				t.failed++
			} else if cell == "" {
				cell = "yes"
			}
			log.Printf("%-12s %-10s %-10s %s", c.name, m.name, p.name, cell)
			cells = append(cells, cell)
		}
	}
	t.rows = append(t.rows, cells)
}

func (t *table) print() {
	heading, line := "|", "|---|"
	for _, m := range mounts {
		for _, p := range programs {
			heading += " | " + m.name + ": " + p.name
			line += "---|"
		}
	}
	fmt.Printf("%s |\n%s\n", heading, line)
	for _, cells := range t.rows {
		fmt.Printf("| %s |\n", strings.Join(cells, " | "))
	}
}
