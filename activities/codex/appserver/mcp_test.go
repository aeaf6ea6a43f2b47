package appserver_test

import (
	"context"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveMCP plays the coordination server: one tool, which is not read-only and
// so needs the thread's approval mode.
func serveMCP() {
	type input struct {
		Note string `json:"note"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "cox", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "note", Description: "takes a note"},
		func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
			if in.Note == "die" {
				os.Exit(1) // as when somebody kills it
			}
			text := "noted " + in.Note + " for " + os.Getenv("BINDING")
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}
