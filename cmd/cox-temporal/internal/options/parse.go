package options

import (
	"encoding/json"
	"net"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/urfave/cli/v2"
	enumspb "go.temporal.io/api/enums/v1"

	"coxswain/models"
)

const maxPort = 65535

// namespaceName is what the server accepts and what stays readable in a URL.
var namespaceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// pragmas that may be set: they tune the file. Others are unknown to SQLite,
// which ignores them in silence, or would break what the server relies on.
var pragmas = []string{
	"busy_timeout", "cache_size", "journal_mode", "journal_size_limit", "mmap_size",
	"secure_delete", "synchronous", "temp_store", "wal_autocheckpoint",
}

var (
	logLevels  = []string{"debug", "info", "warn", "error", "never"}
	logFormats = []string{"text", "json", "pretty"} // pretty is what older clients say for text
)

// FromContext reads and checks the flags. Every error is INVALID_ARGUMENT and
// names the flag.
func FromContext(c *cli.Context) (Options, error) {
	o := Options{
		Headless:      flag(c, flagHeadless),
		Database:      text(c, flagDatabase),
		Namespaces:    list(c, flagNamespace),
		LogLevel:      text(c, flagLogLevel),
		LogFormat:     text(c, flagLogFormat),
		JSON:          flag(c, flagJSON) || text(c, flagLogFormat) == "json",
		ExitWithStdin: flag(c, flagExitWithStdin),
	}
	for _, step := range []func(*cli.Context) error{o.addresses, o.namespaces, o.attributes, o.dynamicConfig, o.pragmas, o.logging} {
		if err := step(c); err != nil {
			return Options{}, err
		}
	}
	return o, nil
}

func (o *Options) addresses(c *cli.Context) (err error) {
	if o.IP, err = loopback(flagIP, text(c, flagIP)); err != nil {
		return err
	}
	if o.Port, err = port(flagPort, number(c, flagPort)); err != nil {
		return err
	}
	o.UIIP = o.IP
	if given := text(c, flagUIIP); given != "" {
		if o.UIIP, err = loopback(flagUIIP, given); err != nil {
			return err
		}
	}
	_, given := nearest(c, flagUIPort)
	switch {
	case given:
		o.UIPort = number(c, flagUIPort)
	case o.Port != 0 && o.Port <= maxPort-UIPortOffset:
		o.UIPort = o.Port + UIPortOffset
	}
	if o.Headless {
		return nil
	}
	o.UIPort, err = port(flagUIPort, o.UIPort)
	return err
}

func (o *Options) namespaces(*cli.Context) error {
	if len(o.Namespaces) == 0 {
		o.Namespaces = []string{DefaultNamespace}
	}
	for _, name := range o.Namespaces {
		if !namespaceName.MatchString(name) {
			return models.Invalid(flagNamespace, "%q is not a name of letters, digits, '.', '_' and '-'", name)
		}
		if strings.EqualFold(name, "temporal-system") {
			return models.Invalid(flagNamespace, "%q belongs to the server", name)
		}
	}
	o.Namespaces = unique(o.Namespaces)
	return nil
}

func (o *Options) attributes(c *cli.Context) error {
	o.SearchAttributes = make(map[string]enumspb.IndexedValueType)
	return pairs(flagAttribute, list(c, flagAttribute), func(name, kind string) error {
		value, err := enumspb.IndexedValueTypeFromString(kind)
		if err != nil || value == enumspb.INDEXED_VALUE_TYPE_UNSPECIFIED {
			return models.Invalid(flagAttribute, "%q has the unknown type %q; the types are %s", name, kind, attributeTypes())
		}
		if before, twice := o.SearchAttributes[name]; twice && before != value {
			return models.Invalid(flagAttribute, "%q is given as %s and as %s", name, before, value)
		}
		o.SearchAttributes[name] = value
		return nil
	})
}

func (o *Options) dynamicConfig(c *cli.Context) error {
	o.DynamicConfig = make(map[string]json.RawMessage)
	return pairs(flagDynamicConfig, list(c, flagDynamicConfig), func(key, value string) error {
		if !json.Valid([]byte(value)) {
			return models.Invalid(flagDynamicConfig, "the value of %q is not JSON: %s (text needs double quotes)", key, value)
		}
		o.DynamicConfig[key] = json.RawMessage(value)
		return nil
	})
}

func (o *Options) pragmas(c *cli.Context) error {
	o.Pragmas = make(map[string]string)
	return pairs(flagPragma, list(c, flagPragma), func(name, value string) error {
		name = strings.ToLower(name)
		if !slices.Contains(pragmas, name) {
			return models.Invalid(flagPragma, "%q cannot be set; those that can are %s", name, strings.Join(pragmas, ", "))
		}
		o.Pragmas[name] = value
		return nil
	})
}

func (o *Options) logging(*cli.Context) error {
	if !slices.Contains(logLevels, o.LogLevel) {
		return models.Invalid(flagLogLevel, "%q is none of %s", o.LogLevel, strings.Join(logLevels, ", "))
	}
	if !slices.Contains(logFormats, o.LogFormat) {
		return models.Invalid(flagLogFormat, "%q is none of %s", o.LogFormat, strings.Join(logFormats, ", "))
	}
	return nil
}

// loopback returns the address in numbers. The server asks nobody who they are,
// so it must not be reachable from another machine.
func loopback(name, value string) (string, error) {
	if value == "localhost" {
		return "127.0.0.1", nil
	}
	ip := net.ParseIP(strings.Trim(value, "[]"))
	if ip == nil {
		return "", models.Invalid(name, "%q is not an IP address", value)
	}
	if !ip.IsLoopback() {
		return "", models.Invalid(name, "%s is reachable from other machines, and this server lets everyone do everything; only loopback addresses such as 127.0.0.1 are allowed", value)
	}
	return ip.String(), nil
}

func port(name string, value int) (int, error) {
	if value < 0 || value > maxPort {
		return 0, models.Invalid(name, "%d is not a port (0 to %d)", value, maxPort)
	}
	return value, nil
}

// pairs hands each KEY=VALUE on.
func pairs(name string, values []string, use func(key, value string) error) error {
	for _, v := range values {
		key, value, found := strings.Cut(v, "=")
		if key = strings.TrimSpace(key); !found || key == "" || strings.TrimSpace(value) == "" {
			return models.Invalid(name, "%q is not of the form KEY=VALUE", v)
		}
		if err := use(key, strings.TrimSpace(value)); err != nil {
			return err
		}
	}
	return nil
}

// attributeTypes lists the types of search attributes.
func attributeTypes() string {
	var names []string
	for number := range enumspb.IndexedValueType_name {
		if kind := enumspb.IndexedValueType(number); kind != enumspb.INDEXED_VALUE_TYPE_UNSPECIFIED {
			names = append(names, kind.String())
		}
	}
	sort.Strings(names)
	return strings.Join(names, ", ")
}

// unique drops repetitions and keeps the order.
func unique(names []string) []string {
	var kept []string
	for _, name := range names {
		if !slices.Contains(kept, name) {
			kept = append(kept, name)
		}
	}
	return kept
}
