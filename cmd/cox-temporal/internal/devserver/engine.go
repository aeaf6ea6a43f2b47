package devserver

import (
	"net"
	"strconv"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

const (
	storeName      = "sqlite"
	disabled       = "disabled"
	maxJoinTime    = 30 * time.Second // bounds the start of each service
	firstFailover  = 1
	failoverStride = 10
)

// engineParts is what the server's configuration depends on.
type engineParts struct {
	ip        string // of the frontend
	ports     servicePorts
	store     *config.SQL
	clusterID string
	settings  settings
	log       *serverLog
}

// engineOptions returns the options of a server of one host: no membership
// protocol, and nobody to authorise because only this machine can reach it.
func engineOptions(p engineParts) []temporal.ServerOption {
	return []temporal.ServerOption{
		temporal.WithConfig(p.config()),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(p.hosts()),
		temporal.WithLogger(p.log.logger),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return authorization.NewNoopClaimMapper() }),
		temporal.WithDynamicConfigClient(p.settings),
	}
}

// config returns the static configuration.
func (p engineParts) config() *config.Config {
	c := &config.Config{
		Persistence: config.Persistence{
			DefaultStore: storeName, VisibilityStore: storeName, NumHistoryShards: historyShards,
			DataStores: map[string]config.DataStore{storeName: {SQL: p.store}},
		},
		ClusterMetadata:     p.cluster(),
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: p.ports.frontendAddress(p.ip)},
		Services: map[string]config.Service{
			string(primitives.FrontendService): service(p.ip, p.ports.frontend),
			string(primitives.HistoryService):  service(internalIP, p.ports.history),
			string(primitives.MatchingService): service(internalIP, p.ports.matching),
			string(primitives.WorkerService):   service(internalIP, p.ports.worker),
		},
	}
	c.Global.Membership = config.Membership{MaxJoinDuration: maxJoinTime, BroadcastAddress: internalIP}
	c.Archival.History.State, c.Archival.Visibility.State = disabled, disabled
	c.NamespaceDefaults.Archival.History.State = disabled
	c.NamespaceDefaults.Archival.Visibility.State = disabled
	return c
}

// cluster describes a cluster of one, whose id belongs to the database.
func (p engineParts) cluster() *cluster.Config {
	return &cluster.Config{
		FailoverVersionIncrement: failoverStride,
		MasterClusterName:        clusterName,
		CurrentClusterName:       clusterName,
		ClusterInformation: map[string]cluster.ClusterInformation{clusterName: {
			Enabled:                true,
			InitialFailoverVersion: firstFailover,
			RPCAddress:             p.ports.frontendAddress(p.ip),
			ClusterID:              p.clusterID,
		}},
	}
}

// hosts says where each service is, in place of a membership protocol.
func (p engineParts) hosts() map[primitives.ServiceName]static.Hosts {
	at := func(ip string, port int) static.Hosts {
		return static.SingleLocalHost(net.JoinHostPort(ip, strconv.Itoa(port)))
	}
	return map[primitives.ServiceName]static.Hosts{
		primitives.FrontendService: at(p.ip, p.ports.frontend),
		primitives.HistoryService:  at(internalIP, p.ports.history),
		primitives.MatchingService: at(internalIP, p.ports.matching),
		primitives.WorkerService:   at(internalIP, p.ports.worker),
	}
}

// service binds a service's gRPC port. HTTPPort stays 0: the HTTP API would
// answer any Host header.
func service(ip string, port int) config.Service {
	return config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: ip}}
}
