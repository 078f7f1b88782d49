package kernlock

import "errors"

const HasFlock = false

func Flock(int, Op, bool) error { return errors.ErrUnsupported }

func Record(Range) Call { return Flock }

func Acquire(Call, int, Op, Limit) error { return errors.ErrUnsupported }

func LockPermit(fd, n int, withoutFlock bool, limit Limit) error { return errors.ErrUnsupported }

func TakePlace(fd, n int) error { return errors.ErrUnsupported }

func UnlockPermit(fd int) error { return errors.ErrUnsupported }

func IsRecordUnsupported(err error) bool { return IsUnsupported(err) }

func NeedsWriting(error) bool { return false }

func IsAnswer(err error) bool { return IsUnsupported(err) }

func IsUnsupported(err error) bool { return err == errors.ErrUnsupported }
