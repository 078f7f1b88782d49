package fallback

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// The scripts are those of actor.play: X, S and P lock exclusively, shared and for a permit, x, s and p try to, u
// unlocks. Two locks in a row convert.
func TestEveryInterleaving(t *testing.T) {
	total := 0
	for _, c := range []struct {
		long    bool // only in make torture
		name    string
		rules   rules
		scripts string
	}{
		{false, "exclusive", rules{crashes: 3}, "Xu Xu Xu"},
		{false, "two exclusive, one shared", rules{crashes: 3}, "Xu Xu Su"},
		{true, "one exclusive, two shared", rules{crashes: 3}, "Xu Su Su"},
		{true, "two permits for three", rules{crashes: 3, permits: 2}, "Pu Pu Pu"},
		{true, "one permit, one shared, one exclusive", rules{crashes: 3, permits: 1}, "Pu Su Xu"},
		{false, "one permit for two, and one exclusive", rules{crashes: 2, permits: 1}, "Pu Pu Xu"},
		{true, "trying", rules{crashes: 3}, "xu xu su"},
		{true, "one comes again", rules{crashes: 2}, "XuXu Xu Xu"},
		{true, "two upgrades", rules{crashes: 2}, "SXu SXu Xu"},
		{false, "two upgrades alone", rules{crashes: 2}, "SXu SXu"},
		{true, "upgrades tried", rules{crashes: 1}, "Sxu Sxu Su"},
		{true, "upgrade beside shared", rules{crashes: 2}, "SXu Su Su"},
		{false, "upgrade beside one shared", rules{crashes: 2}, "SXu Su"},
		{false, "downgrade", rules{crashes: 1}, "XSu Xu Su"},
		{true, "there and back", rules{crashes: 1}, "XSXu Xu Su"},
		{true, "to a permit and back", rules{crashes: 2, permits: 1}, "SPXu Pu Xu"},
		{true, "to a permit", rules{permits: 1}, "SPu Pu Xu"},
		{false, "torn listings", rules{crashes: 1, torn: true}, "Xu Su Xu"},
		{true, "torn listings and conversions", rules{torn: true}, "XSu Xu SXu"},
		{true, "locking for a shell", rules{crashes: 1, shells: true}, "Xu Xu Su"},
		{false, "locking for a shell without unlocking", rules{crashes: 2, shells: true}, "X X S"},
		{true, "converting for a shell", rules{crashes: 1, shells: true}, "XSu SXu Xu"},
		// The protocol does not rest on the verdict about a busy token: exclusion holds even though A is thought dead
		// while having it.
		{false, "thought dead", rules{lies: 2}, "Xu Xu Su"},
		{true, "thought dead, shared", rules{lies: 1}, "Su Xu Su"},
		{true, "thought dead, permits", rules{permits: 1, lies: 1}, "Pu Pu Xu"},
		{true, "thought dead, converting", rules{lies: 1}, "XSu SXu Xu"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long && os.Getenv("FLOCK_TORTURE") == "" {
				t.Skip("long: in make torture")
			}
			states, story := explore(c.rules, strings.Fields(c.scripts)...)
			if story != "" {
				t.Fatal("\n" + story)
			}
			t.Logf("%d states", states)
			total += states
		})
	}
	t.Log("states in all:", total)
}

// Changes to the protocol that look harmless have to be found out, or the test above would prove nothing.
func TestEveryInterleavingFindsMutants(t *testing.T) {
	for _, c := range []struct {
		name    string
		rules   rules
		scripts string
		wrap    func(*actor) space
	}{
		{"a thief takes whatever token there is", rules{crashes: 1}, "Xu Xu Xu",
			func(a *actor) space { return anyToken{a} }},
		{"who is robbed of the token goes on, exclusive", rules{lies: 1}, "Xu Xu Xu",
			func(a *actor) space { return stubborn{a} }},
		{"who is robbed of the token goes on, shared", rules{lies: 1}, "Su Xu Xu",
			func(a *actor) space { return stubborn{a} }},
		{"the record comes after the token is free", rules{}, "Su Xu Xu",
			func(a *actor) space { return &tardy{actor: a} }},
		{"nobody looks for the dead", rules{crashes: 1}, "Xu Xu Xu",
			func(a *actor) space { return optimist{a} }},
		{"a downgrade frees the token first", rules{crashes: 1, shells: true}, "XS X X",
			func(a *actor) space { return &tardy{actor: a} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.rules.wrap = c.wrap
			states, story := explore(c.rules, strings.Fields(c.scripts)...)
			if story == "" {
				t.Fatalf("not found in %d states", states)
			}
			t.Logf("found after %d states:\n%s", states, story)
		})
	}
}

type anyToken struct{ *actor }

func (m anyToken) Rename(old, new string) error {
	err := m.actor.Rename(old, new)
	if err != nil && old != free && strings.HasPrefix(new, "busy") {
		for n := range m.sim.names {
			if isToken(n) {
				return m.actor.Rename(n, new)
			}
		}
	}
	return err
}

type stubborn struct{ *actor }

func (m stubborn) Rename(old, new string) error {
	err := m.actor.Rename(old, new)
	if errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(old, "busy") {
		if new != free {
			m.held[new] = true
			return nil
		}
		for n := range m.sim.names {
			if !isToken(n) && strings.Contains(n, ","+m.owner().String()+",") {
				m.held[n] = true
				return nil
			}
		}
	}
	return err
}

type tardy struct {
	*actor
	name string
}

func (m *tardy) Create(name string) error {
	m.name = name
	return nil
}

func (m *tardy) Rename(old, new string) error {
	err := m.actor.Rename(old, new)
	if m.name != "" && new == free {
		if err == nil {
			m.held[m.name] = true
			m.sim.check()
			m.actor.Create(m.name)
		}
		m.name = ""
	}
	return err
}

type optimist struct{ *actor }

func (optimist) Fate(Owner) fate { return alive }
