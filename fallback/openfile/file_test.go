package openfile

import "testing"

// TestParse has what a record can say of its open file. Only what String writes can be read.
func TestParse(t *testing.T) {
	for text, want := range map[string]*File{
		"7.1.9.3.a.2-1":      {Location{7, 1, 9}, FileID{1, 2}, NoAtime, 3, 1},
		"0.0.0.0.n.0-0":      {Mark: NonBlock},
		"7.1.9.3.n.z-1.1e":   {Location{7, 1, 9}, FileID{1, 35}, NonBlock, 3, 50},
		"-7.1.9.3.a.2-1":     nil,
		"7.1.-9.3.a.2-1":     nil,
		"7.1.9.-3.a.2-1":     nil,
		"7.1.9.3.x.2-1":      nil, // an unknown mark
		"7.1.9.3.a.2":        nil, // no device
		"7.1.9.3.a.2-1.1":    nil, // the start is that of the locker
		"7.1.9.3.a":          nil,
		"7.1.9.3.a.2-1.1e.":  nil,
		"7.1.9.3.a.2-1.1e.1": nil,
		"7.01.9.3.a.2-1":     nil,
		"":                   nil,
	} {
		f := Parse(text)
		switch {
		case (f != nil) != (want != nil):
			t.Errorf("%q: %v", text, f)
		case f != nil && (*f != *want || f.String() != text):
			t.Errorf("%q: %+v, %s", text, *f, f)
		}
	}
}
