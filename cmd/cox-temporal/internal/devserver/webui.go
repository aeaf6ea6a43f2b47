package devserver

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/temporalio/ui-server/v2/server/api"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/csrf"
	"github.com/temporalio/ui-server/v2/server/headers"
	"github.com/temporalio/ui-server/v2/server/route"
	uiversion "github.com/temporalio/ui-server/v2/server/version"
	uiassets "github.com/temporalio/ui-server/v2/ui"

	"coxswain/cmd/cox-temporal/internal/guard"
)

// UIVersion is the version of the Web UI.
const UIVersion = uiversion.UIVersion

// headerLimit bounds how long a client may take to send its request head.
const headerLimit = 10 * time.Second

// webUI is the Web UI's listener and, once served, its server.
type webUI struct {
	ip       string
	listener net.Listener
	server   *http.Server
	failed   chan error // receives the error of a server that ended by itself
}

// bindUI takes the Web UI's port at once, so that it cannot be lost while the
// services start.
func bindUI(ip string, port int) (*webUI, error) {
	l, err := listen("ui-port", ip, port)
	if err != nil {
		return nil, err
	}
	return &webUI{ip: ip, listener: l, failed: make(chan error, 1)}, nil
}

// url returns the address to open in a browser.
func (u *webUI) url() string { return "http://" + u.listener.Addr().String() }

// serve starts to answer, for the frontend at the given address.
func (u *webUI) serve(frontend, namespace string) error {
	handler, err := uiHandler(uiSettings(frontend, namespace))
	if err != nil {
		return unavailable("the Web UI cannot be set up", err)
	}
	u.server = &http.Server{
		Handler:           guard.New(handler, u.ip, portOf(u.listener)),
		ReadHeaderTimeout: headerLimit,
	}
	go func() {
		if err := u.server.Serve(u.listener); !errors.Is(err, http.ErrServerClosed) {
			u.failed <- fmt.Errorf("the Web UI ended: %w", err)
		}
	}()
	return nil
}

// close stops answering at once; a page loses nothing by it.
func (u *webUI) close() error {
	if u.server == nil {
		return u.listener.Close()
	}
	return u.server.Close()
}

// uiSettings says what the Web UI shows and offers. Cancel and terminate stay:
// cancel is carried to the ledger, terminate is noticed and healed. Everything
// else that changes a workflow would go past the ledger, so its buttons are
// gone, and the guard refuses the calls behind them.
func uiSettings(frontend, namespace string) *uiconfig.Config {
	return &uiconfig.Config{
		TemporalGRPCAddress:      frontend,
		DefaultNamespace:         namespace,
		EnableUI:                 true,
		HideLogs:                 true,
		DisableNewsFetch:         true,
		CORS:                     uiconfig.CORS{CookieInsecure: true}, // plain HTTP on loopback
		StartWorkflowDisabled:    true,
		WorkflowSignalDisabled:   true,
		WorkflowUpdateDisabled:   true,
		WorkflowResetDisabled:    true,
		WorkflowPauseDisabled:    true,
		BatchActionsDisabled:     true,
		ActivityCommandsDisabled: true,
	}
}

// uiHandler puts together what ui-server's own Start would serve on a port of
// its own. Its CORS rules are left out: the guard lets only its own origin in.
func uiHandler(cfg *uiconfig.Config) (http.Handler, error) {
	provider, err := uiconfig.NewConfigProviderWithRefresh(cfg)
	if err != nil {
		return nil, err
	}
	assets, err := uiassets.Assets()
	if err != nil {
		return nil, err
	}
	if assets, err = fs.Sub(assets, "local"); err != nil {
		return nil, err
	}
	secureCookie := !cfg.CORS.CookieInsecure
	e := echo.New()
	e.Use(middleware.Recover(), middleware.Gzip(), middleware.Secure(),
		csrf.EnsureTokenCookie(secureCookie), middleware.CSRFWithConfig(csrf.MiddlewareConfig(provider, secureCookie)))
	route.SetHealthRoute(e)
	forward := headers.WithForwardHeaders([]string{"Caller-Type"})
	if err := route.SetAPIRoutes(e, provider, []api.Middleware{forward}); err != nil {
		return nil, err
	}
	if err := route.SetUIRoutes(e, cfg.PublicPath, assets); err != nil {
		return nil, err
	}
	route.SetRenderRoute(e, cfg.PublicPath)
	return e, nil
}
