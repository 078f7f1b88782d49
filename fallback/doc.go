// Package fallback locks files where there is neither flock(2) nor fcntl(2) locks: exclusively, shared, or with a
// limited number of permits, and follows the life of the holder as those do.
package fallback
