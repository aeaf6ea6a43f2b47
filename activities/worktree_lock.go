package activities

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"coxswain/models"
)

// lockFile waits for the lock of a file until ctx ends. The lock belongs to the open
// file: a process that inherits it holds it, too, until it ends.
func lockFile(ctx context.Context, path string) (unlock func(), held *os.File, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, models.Errorf(models.CodeInternal, "the lock %s cannot be opened", path).Because(err)
	}
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, f, nil // closing gives it up
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = f.Close()
			return nil, nil, models.Errorf(models.CodeInternal, "the lock %s cannot be taken", path).Because(err)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			_ = f.Close()
			return nil, nil, models.Errorf(models.CodeInterrupted, "another attempt holds %s", path).Because(ctx.Err())
		}
	}
}
