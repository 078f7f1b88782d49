package fallback

import (
	"slices"
	"sync"
)

// Several Locks of one process may have the same owner, and then only the nonces tell whose record is whose. Each Lock
// claims the nonce of a record before it makes the record, and disclaims it when that is gone. A nonce that nobody in
// this process claims is that of another process, which has locked for the same owner.
var claims = struct {
	sync.Mutex
	by map[string]*Lock // nonce
}{by: map[string]*Lock{}}

func (l *Lock) claim(nonce string) {
	claims.Lock()
	defer claims.Unlock()
	claims.by[nonce] = l
	l.nonces = append(l.nonces, nonce)
}

// disclaim gives up all claims but one; "": all.
func (l *Lock) disclaim(but string) {
	claims.Lock()
	defer claims.Unlock()
	l.nonces = slices.DeleteFunc(l.nonces, func(nonce string) bool {
		if nonce != but {
			delete(claims.by, nonce)
		}
		return nonce != but
	})
}

// claimant returns the Lock of this process that claims a nonce, or nil.
func claimant(nonce string) *Lock {
	claims.Lock()
	defer claims.Unlock()
	return claims.by[nonce]
}
