package devserver

import (
	"encoding/json"
	"fmt"

	"go.temporal.io/server/common/dynamicconfig"

	"coxswain/models"
)

// settings are the server's dynamic configuration.
type settings = dynamicconfig.StaticClient

// dynamicConfig puts the settings of the command line over ours. A key that the
// server does not know, or a value that it would replace by its default, is
// INVALID_ARGUMENT: the server itself would ignore both.
func dynamicConfig(given map[string]json.RawMessage) (settings, error) {
	all := defaultSettings()
	for name, value := range given {
		key := dynamicconfig.MakeKey(name)
		var loader dynamicconfig.YamlLoader
		loader.LoadValue(key, fmt.Appendf(nil, `[{"value": %s}]`, value)) // JSON is YAML
		for _, problem := range append(loader.Errors, loader.Warnings...) {
			return nil, models.Invalid("dynamic-config-value", "%s=%s is not a setting of server %s", name, value, Version).Because(problem)
		}
		all[key] = loader.Map[key]
	}
	return all, nil
}

// defaultSettings are what one local user with many agents needs.
func defaultSettings() settings {
	return settings{
		// Nothing leaves the machine.
		dynamicconfig.EnableServerVersionCheck.Key(): false,
		// A search attribute is usable the moment it was added, in every service.
		dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,
		// Workflow ids are business keys, and a workflow that came to rest is
		// started again under its id by the next wake-up; the default refuses that
		// for a second. The ledger decides whether a start means anything.
		dynamicconfig.WorkflowIdReuseMinimalInterval.Key(): 0,
		// The default of 10 list calls a second is below one open Web UI and a test.
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 100,
		// One machine's worth of workflows; the default is sized for a cluster.
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 8096,
		// SQLite in the same process is not a shared database to be spared.
		dynamicconfig.FrontendPersistenceMaxQPS.Key(): 10000,
		dynamicconfig.HistoryPersistenceMaxQPS.Key():  45000,
	}
}
