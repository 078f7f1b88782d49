package main

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// layouts has the digest of the SQL of each version of the tables, without comments and white space.
var layouts = map[int]string{
	2: "0647fedc7b6a841e5db372f320fcd0742c6e59e7646e98baf4b75d51cffac140",
}

// TestVersionOfSchema fails when the tables change and their version does not: programs of before would then use tables
// that are not theirs. If no release has had the version yet, the digest may change.
func TestVersionOfSchema(t *testing.T) {
	plain := regexp.MustCompile(`--.*`).ReplaceAllString(schema, "")
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(strings.Fields(plain), " "))))
	if layouts[schemaVersion] != digest {
		t.Errorf("version %d of the tables has the digest %s, expected %s: has the version to be a new one?",
			schemaVersion, digest, layouts[schemaVersion])
	}
	for _, words := range []string{"version %d.", "INSERT INTO flock.server VALUES (true, %d,"} {
		if text := fmt.Sprintf(words, schemaVersion); !strings.Contains(schema, text) {
			t.Errorf("schema.sql lacks %q", text)
		}
	}
}
