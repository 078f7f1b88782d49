package locks

import "testing"

// TestEmptyChain locks by no mechanism at all: that must not look like a lock.
func TestEmptyChain(t *testing.T) {
	c := &Chain{}
	if err := c.Lock(Exclusive, Try); err == nil || IsRefusal(err) {
		t.Errorf("Lock: %v", err)
	}
	if c.Unlock() == nil {
		t.Error("Unlock: no error")
	}
}
