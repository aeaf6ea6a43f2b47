package models

import (
	"slices"
	"strings"
)

// commandRule gives a class to commands of some programs. Words that begin with a
// dash are options and are skipped where a rule looks for words.
type commandRule struct {
	class    RiskClass
	programs []string
	// sub are the words one of which has to occur; none is any.
	sub []string
	// unless are words that make the command harmless when one of them is the first
	// word that is no option; without any word at all the rule applies.
	unless []string
	// options are options one of which has to occur, as they are or with "=value".
	options []string
}

// applies tells whether the arguments of the program fit the rule. Where an option
// takes a value as a word of its own, that value counts as a word: the rule then
// rather applies than not.
func (r commandRule) applies(arguments []string) bool {
	words := slices.DeleteFunc(slices.Clone(arguments), func(w string) bool { return strings.HasPrefix(w, "-") })
	if len(r.unless) > 0 && len(words) > 0 && slices.Contains(r.unless, words[0]) {
		return false
	}
	if len(r.sub) > 0 && !slices.ContainsFunc(words, func(w string) bool { return slices.Contains(r.sub, w) }) {
		return false
	}
	return len(r.options) == 0 || slices.ContainsFunc(arguments, r.hasOption)
}

func (r commandRule) hasOption(argument string) bool {
	name, _, _ := strings.Cut(argument, "=")
	return slices.Contains(r.options, name)
}

// commandRules are looked at one after the other; all that apply count.
var commandRules = []commandRule{
	{class: RiskPush, programs: []string{"git"}, sub: []string{"push", "send-pack", "http-push", "send-email", "svn", "p4"}},
	{class: RiskPush, programs: []string{"git"}, options: []string{"-c", "--config-env", "--exec-path"}}, // an alias may hide a push
	{class: RiskPush, programs: []string{"git-push", "git-send-pack", "git-http-push"}},
	{class: RiskPush, programs: []string{"hg", "jj", "sl", "fossil", "bzr"}, sub: []string{"push", "sync"}},
	{class: RiskPush, programs: []string{"svn"}, sub: []string{"commit", "ci", "import"}},
	{class: RiskPush, programs: []string{"gh", "glab", "hub", "tea"}, unless: []string{"auth", "help", "status", "search", "browse"}, sub: []string{
		"create", "merge", "sync", "edit", "delete", "close", "push", "api", "update-branch", "ready", "review", "comment", "rename", "archive", "fork",
	}},

	{class: RiskRegistry, programs: []string{"docker", "podman", "buildah", "nerdctl"}, sub: []string{"push", "buildx", "bake", "manifest", "commit"}},
	{class: RiskRegistry, programs: []string{"docker", "podman", "buildah", "nerdctl"}, options: []string{"--push", "--output"}},
	{class: RiskRegistry, programs: []string{"az"}, sub: []string{"acr"}},
	{class: RiskRegistry, programs: []string{"gcloud"}, sub: []string{"builds", "artifacts"}},
	{class: RiskRegistry, programs: []string{"aws"}, sub: []string{"ecr", "ecr-public", "codebuild"}},
	{class: RiskRegistry, programs: []string{"skopeo", "crane", "oras", "regctl", "kaniko", "executor", "img"}, unless: []string{"inspect", "list", "ls", "manifest", "digest", "version"}},
	{class: RiskRegistry, programs: []string{"ko"}, sub: []string{"build", "publish", "resolve"}},
	{class: RiskRegistry, programs: []string{"npm", "pnpm", "yarn", "bun", "cargo", "poetry", "uv", "flit", "hatch", "pdm", "gem", "dotnet", "nuget", "lerna", "mvn", "gradle", "gradlew", "sbt", "vsce"}, sub: []string{
		"publish", "unpublish", "push", "yank", "deploy", "deprecate", "dist-tag", "owner", "uploadarchives",
	}},
	{class: RiskRegistry, programs: []string{"twine"}, sub: []string{"upload"}},
	{class: RiskRegistry, programs: []string{"helm"}, sub: []string{"push"}},

	{class: RiskSecret, programs: []string{"kubectl", "oc", "k", "kubecolor"}, sub: []string{"secret", "secrets", "sealedsecret", "sealedsecrets"}},
	{class: RiskSecret, programs: []string{"vault", "bao"}, unless: []string{"status", "version", "read", "list"}},
	{class: RiskSecret, programs: []string{"gh", "glab"}, sub: []string{"secret", "variable", "auth", "ssh-key", "gpg-key"}},
	{class: RiskSecret, programs: []string{"aws"}, sub: []string{"secretsmanager", "put-parameter", "kms", "iam", "configure", "delete-parameter"}},
	{class: RiskSecret, programs: []string{"az"}, sub: []string{"keyvault", "ad", "login", "role"}},
	{class: RiskSecret, programs: []string{"gcloud"}, sub: []string{"secrets", "kms", "iam", "auth"}},
	{class: RiskSecret, programs: []string{"op", "pass", "gopass", "bw", "doppler", "sops", "age", "secret-tool", "security", "keytool", "chamber", "infisical", "keyring", "htpasswd", "passwd", "chpasswd", "gpg", "gpg2", "ssh-keygen", "ssh-add", "ssh-copy-id"}},
	{class: RiskSecret, programs: []string{"heroku", "fly", "flyctl", "wrangler", "vercel", "netlify", "railway", "supabase"}, sub: []string{
		"config:set", "config:unset", "secret", "secrets", "env", "env:set", "tokens", "auth",
	}},
	{class: RiskSecret, programs: []string{"docker", "podman", "npm", "pnpm", "yarn", "cargo", "helm", "oras", "crane", "skopeo"}, sub: []string{"login", "logout", "token", "adduser", "secret"}},
	{class: RiskSecret, programs: []string{"git"}, sub: []string{"credential", "credential-store", "credential-cache"}},

	{class: RiskCluster, programs: []string{"kubectl", "oc", "k", "kubecolor"}, unless: []string{
		"get", "describe", "logs", "explain", "version", "api-resources", "api-versions", "cluster-info", "top", "diff", "help", "completion", "options", "kustomize",
	}},
	{class: RiskCluster, programs: []string{"helm", "helmfile"}, unless: []string{
		"list", "ls", "status", "template", "lint", "show", "get", "search", "version", "history", "env", "help", "completion", "create", "package", "dependency", "verify", "push", "login",
	}},
	{class: RiskCluster, programs: []string{"istioctl", "linkerd", "velero", "flux", "argocd", "kn", "tkn", "cilium", "kustomizer", "skaffold", "tilt", "devspace", "okteto", "garden"}, unless: []string{
		"get", "list", "ls", "version", "help", "check", "describe", "logs", "analyze", "viz", "completion", "render", "diagnose",
	}},
	{class: RiskCluster, programs: []string{"eksctl", "kops", "kubeadm", "kubespray", "k0sctl", "rke", "talosctl", "clusterctl", "rancher", "kubefed", "etcdctl"}, unless: []string{"get", "version", "help", "describe", "list"}},
	{class: RiskCluster, programs: []string{"aws"}, sub: []string{"eks", "ecs"}},
	{class: RiskCluster, programs: []string{"az"}, sub: []string{"aks"}},
	{class: RiskCluster, programs: []string{"gcloud"}, sub: []string{"container"}},
	{class: RiskCluster, programs: []string{"doctl"}, sub: []string{"kubernetes", "k8s"}},

	{class: RiskDeployment, programs: []string{"terraform", "tofu", "terragrunt", "cdktf"}, unless: []string{
		"plan", "validate", "fmt", "init", "version", "show", "output", "providers", "graph", "console", "get", "help", "test", "synth",
	}},
	{class: RiskDeployment, programs: []string{"pulumi", "cdk", "sam", "serverless", "sls", "copilot", "amplify", "azd", "sst", "nitric", "encore"}, unless: []string{
		"preview", "synth", "synthesize", "diff", "list", "ls", "validate", "build", "version", "about", "doctor", "help", "print", "stack", "whoami", "local",
	}},
	{class: RiskDeployment, programs: []string{"vercel", "now", "netlify", "wrangler", "fly", "flyctl", "heroku", "firebase", "eb", "surge", "railway", "render", "kamal", "cap", "fab", "dokku", "cf", "gcloud", "aws", "az", "doctl", "linode-cli", "scw", "ibmcloud", "oci", "aliyun", "hcloud", "exo", "upctl", "ansible", "ansible-playbook", "ansible-pull", "salt", "salt-ssh", "puppet", "chef-client", "knife", "nixops", "colmena", "deployer", "dep", "capistrano", "convox", "waypoint", "nomad"}, unless: []string{
		"version", "help", "whoami", "list", "ls", "logs", "status", "info", "dev", "inspect", "plan", "validate", "ping",
	}},
	{class: RiskDeployment, programs: []string{"docker"}, sub: []string{"stack", "service", "swarm"}},
	{class: RiskDeployment, programs: []string{"gh"}, sub: []string{"workflow", "release", "run", "deployment"}},
	{class: RiskDeployment, programs: []string{"goreleaser", "semantic-release", "release-it", "changeset"}},
	{class: RiskDeployment, programs: []string{"ssh", "mosh", "scp", "sftp", "rsync", "autossh", "sshpass", "pssh", "pdsh"}}, // another machine
	{class: RiskDeployment, programs: []string{"systemctl", "service", "initctl", "rc-service", "launchctl", "supervisorctl", "pm2", "reboot", "shutdown", "poweroff", "halt"}, unless: []string{"status", "show", "list-units", "is-active", "is-enabled", "cat", "list"}},
	{class: RiskDeployment, programs: []string{"liquibase", "flyway", "alembic", "sqitch", "dbmate", "goose"}, unless: []string{"status", "history", "version", "validate", "info", "current", "heads"}},

	{class: RiskDestructive, programs: []string{
		"rm", "rmdir", "unlink", "shred", "srm", "wipe", "dd", "wipefs", "blkdiscard", "truncate", "fdisk", "sfdisk", "parted", "mv", "trash", "del", "rd", "erase",
		"dropdb", "userdel", "groupdel", "crontab", "lvremove", "vgremove", "zfs", "zpool", "btrfs", "mkswap", "chattr", "diskutil", "rimraf", "unrar",
	}},
	{class: RiskDestructive, programs: []string{"find", "fd", "fdfind"}, options: []string{"-delete", "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch", "-fprint", "-fls"}},
	{class: RiskDestructive, programs: []string{"git"}, sub: []string{
		"clean", "reset", "restore", "checkout", "switch", "rm", "filter-branch", "filter-repo", "gc", "prune", "stash", "worktree", "reflog", "update-ref", "replace", "rebase", "mv", "foreach", "bisect", "apply", "am",
	}},
	{class: RiskDestructive, programs: []string{"git"}, sub: []string{"branch", "tag", "remote"}, options: []string{"-d", "-D", "--delete", "-f", "--force", "-M"}},
	{class: RiskDestructive, programs: []string{"rsync"}, options: []string{"--delete", "--delete-after", "--delete-before", "--delete-during", "--delete-excluded", "--remove-source-files", "--del"}},
	{class: RiskDestructive, programs: []string{"docker", "podman", "nerdctl", "docker-compose"}, sub: []string{"prune", "rm", "rmi", "volume", "down", "kill", "system", "image", "builder", "run", "exec"}}, // run and exec may mount anything
	{class: RiskDestructive, programs: []string{"cp", "ln", "tar", "unzip", "7z"}, options: []string{"-f", "--force", "-sf", "-fs", "-nsf", "-rf", "-af", "-o", "--overwrite", "--remove-files", "--unlink-first"}},
	{class: RiskDestructive, programs: []string{"redis-cli"}, sub: []string{"flushall", "flushdb", "FLUSHALL", "FLUSHDB", "del", "DEL"}},
	{class: RiskDestructive, programs: []string{"mongo", "mongosh", "mongorestore", "pg_restore", "mysqladmin"}},
	{class: RiskDestructive, programs: []string{"aws", "gsutil", "mc", "rclone", "azcopy", "s3cmd", "b2"}, sub: []string{"rm", "rb", "sync", "mv", "purge", "delete", "deletefile", "cleanup", "remove", "mirror"}},
	{class: RiskDestructive, programs: []string{"chmod", "chown", "chgrp", "setfacl"}, options: []string{"-R", "--recursive", "-Rf", "-fR"}},
	// What follows cannot be seen through.
	{class: RiskDestructive, programs: []string{"eval", "source", ".", "crond", "at", "batch"}},
	{class: RiskDestructive, programs: []string{"python", "python2", "python3", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "osascript", "tclsh", "awk", "gawk", "pwsh", "powershell", "rscript"}, options: []string{
		"-c", "-e", "-E", "-r", "-p", "-i", "--eval", "--print", "--execute", "-command", "-Command", "-EncodedCommand", "-encodedcommand",
	}},
}

// tellingNames are parts of names of scripts and targets that say what they do.
var tellingNames = []struct {
	part  string
	class RiskClass
}{
	{"deploy", RiskDeployment},
	{"release", RiskDeployment},
	{"rollout", RiskDeployment},
	{"rollback", RiskDeployment},
	{"provision", RiskDeployment},
	{"migrate", RiskDeployment},
	{"publish", RiskRegistry},
	{"push", RiskPush},
	{"secret", RiskSecret},
	{"rotate", RiskSecret},
	{"destroy", RiskDestructive},
	{"clean", RiskDestructive},
	{"purge", RiskDestructive},
	{"delete", RiskDestructive},
	{"wipe", RiskDestructive},
	{"uninstall", RiskDestructive},
}

// nameSet makes a set of program names.
func nameSet(names ...string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out
}

var (
	// readsOnly start no other program and change nothing by themselves.
	readsOnly = nameSet("echo", "printf", "cat", "ls", "grep", "egrep", "fgrep", "rg", "man", "info", "head", "tail", "less", "more", "wc", "test", "[", "stat", "file",
		"which", "whereis", "type", "pwd", "date", "true", "false", "sleep", "basename", "dirname", "realpath", "readlink", "diff", "cmp", "tree", "du", "df", "id", "whoami", "uname", "cd", "mkdir", "touch")
	// wrappers start what their words name, so that each of these may be a program.
	wrappers = nameSet("sudo", "doas", "env", "nohup", "nice", "ionice", "time", "timeout", "stdbuf", "setsid", "command", "exec", "builtin", "xargs", "chroot", "unshare", "nsenter", "su", "runuser",
		"watch", "parallel", "flock", "script", "strace", "ltrace", "systemd-run", "caffeinate", "chronic", "direnv", "npx", "pipx", "bundle", "mise", "asdf", "nix", "nix-shell", "faketime", "taskset", "chrt", "busybox", "unbuffer", "firejail", "bwrap", "proxychains")
	// everyday are names of risky programs that are also usual words of other commands:
	// behind a program that is no wrapper they mean nothing.
	everyday = nameSet("dep", "now", "k", "img", "age", "pass", "op", "render", "security", "executor", "at", "batch", "del", "rd", "erase", "service", "cap", "fab", "copilot", "garden",
		"puppet", "salt", "deployer", "install", "trash", "source", ".", "sl", "task", "mc", "cf", "eb", "surge", "changeset", "crane", "knife", "ko", "wipe", "node", "tea")
	// harmlessText only print their words.
	harmlessText = nameSet("echo", "printf", "man", "info", "which", "whereis", "type")
	// runsTargets are programs whose words name what a project's own files define.
	runsTargets = nameSet("make", "gmake", "just", "task", "mage", "rake", "npm", "pnpm", "yarn", "bun", "npx", "nx", "turbo", "bazel", "gradle", "gradlew", "mvn", "ant", "invoke", "inv", "composer", "tox", "nox", "hatch", "poe", "earthly", "dagger", "scripts")
	// shells run the script that their words name.
	shells = nameSet("sh", "bash", "zsh", "dash", "ksh", "fish", "ash", "busybox")
)

// Files that usually hold secrets, in lower case.
var (
	secretFiles = []string{
		".netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", ".dockerconfigjson", "credentials", "credentials.json", "kubeconfig", "auth.json",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "authorized_keys", "shadow", "sudoers", "secrets.yaml", "secrets.yml", "secrets.json", "terraform.tfvars", ".vault-token",
	}
	secretFolders = []string{"/.ssh/", "/.gnupg/", "/.aws/", "/.kube/", "/.azure/", "/.docker/config.json", "/.config/gcloud/", "/.codex/", "/run/secrets/", "/.config/cox/"}
	secretEndings = []string{".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".asc", ".gpg", ".age"}
)

// destroyingSQL are statements that take data away, in lower case.
var destroyingSQL = []string{"drop table", "drop database", "drop schema", "truncate table", "delete from", "drop index", "drop user", "drop role", "truncate "}
