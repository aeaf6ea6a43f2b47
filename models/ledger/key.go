package ledger

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gorm.io/gorm"

	"coxswain/models"
)

// knownKey reads the key of a ledger. The ledger knows its fingerprint, so that another
// key, or a new one, is refused before it makes tokens that nobody accepts. first makes
// the key where the ledger has none yet.
func knownKey(db *gorm.DB, path, name string, first func() error, remedy string) ([]byte, error) {
	known, err := fingerprint(db)
	if err == nil && known == "" {
		if err = first(); err == nil {
			known, err = fingerprint(db)
		}
	}
	if err != nil {
		return nil, err
	}
	key, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && fingerprintOf(key) != known {
		return nil, models.Errorf(models.CodeLedgerUnavailable, "%s is not the key of the ledger %s", path, name).Hint("%s", remedy).Because(err)
	}
	return key, err
}

// firstKey makes the key where the ledger has none yet, and records which it is.
func firstKey(db *gorm.DB, path string) error {
	if known, err := fingerprint(db); err != nil || known != "" {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	key, err := keepKey(path)
	if err != nil {
		return err
	}
	return db.Exec("INSERT INTO meta (key, value) VALUES ('key_fingerprint', ?)", fingerprintOf(key)).Error
}

func fingerprint(db *gorm.DB) (string, error) {
	var known string
	err := db.Raw("SELECT value FROM meta WHERE key = 'key_fingerprint'").Scan(&known).Error
	return known, err
}

func fingerprintOf(key []byte) string {
	sum := sha256.Sum256(append([]byte("cox ledger key "), key...))
	return hex.EncodeToString(sum[:])
}

// keepKey reads the 32-byte key that tokens are derived from, and makes it once.
func keepKey(path string) ([]byte, error) {
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := createKey(path); err != nil {
		return nil, err
	}
	return readKey(path)
}

func readKey(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(string(text))
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("the key file %s is damaged", path)
	}
	return key, nil
}

// createKey writes a new key whole or not at all. The link makes two first openers
// agree on one key.
func createKey(path string) error {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".key-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // the link below keeps the content; a leftover is harmless
	if _, err := tmp.WriteString(hex.EncodeToString(key)); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err := errors.Join(tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
