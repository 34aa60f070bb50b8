package catalog

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/internal/config"
)

// UsualAuth is how the owner of an API wants the key.
func UsualAuth(api string) Auth {
	switch api {
	case apiAnthropic:
		return AuthXAPIKey
	case apiAzure:
		return AuthAPIKey
	case apiGemini:
		return AuthGoogleAPIKey
	case apiVertex:
		return AuthGoogle
	case apiBedrock:
		return AuthAWS
	case apiFaux:
		return AuthNone
	}
	return AuthBearer
}

// credentials finds the provider's key: configuration, file, environment, the
// cloud's own chain. The first that is there wins, and is named.
func (e *entry) credentials(file string, p *Provider, env config.Env) error {
	builtin, user := part(e.builtin), part(e.user)
	auth := Auth(user.Auth)
	if auth == "" && (user.API == "" || user.API == builtin.API) {
		auth = Auth(builtin.Auth)
	}
	p.Auth = cmp.Or(auth, UsualAuth(p.API))
	p.Configured = true
	switch {
	case user.APIKey.Reveal() == "none" || p.Auth == AuthNone:
		p.Auth, p.CredentialsSource = AuthNone, NotNeeded
		return nil
	case !user.APIKey.IsZero():
		p.use(user.APIKey, "configuration")
		return nil
	case user.APIKeyFile != "":
		key, err := readKey(user.APIKeyFile)
		if err != nil {
			return e.mistake(file, "api_key_file", err.Error())
		}
		p.use(config.NewSecret(key), "file "+user.APIKeyFile)
		return nil
	}
	if e.fromEnvironment(p, env) {
		return nil
	}
	e.withoutSecret(p, env)
	return nil
}

// withoutSecret turns to the clouds' own chains, or does without.
func (e *entry) withoutSecret(p *Provider, env config.Env) {
	switch {
	case p.Auth == AuthAWS:
		p.chain("AWS default chain", e.user != nil || hasAWS(env),
			"set AWS_PROFILE, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK")
	case p.Auth == AuthGoogle:
		p.chain("Google application default credentials", e.user != nil || hasGoogle(env),
			"run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS")
	case p.Auth == AuthAzure, p.API == apiAzure && part(e.user).Auth == "" && hasAzure(env) && !e.ownKeyHeader(p):
		p.Auth = AuthAzure
		p.chain("Azure default credentials", true, "")
	default:
		e.withoutKey(p)
	}
}

// use takes a key. Where the cloud's own chain is usual, a key replaces it.
func (p *Provider) use(key config.Secret, source string) {
	p.Key, p.CredentialsSource = key, source
	if p.Auth == AuthAWS {
		p.Auth = AuthBearer
	}
	if p.Auth == AuthGoogle {
		p.Auth = AuthGoogleAPIKey
	}
	if p.Auth == AuthAzure {
		p.Auth = AuthAPIKey
	}
}

// chain says whether a cloud's own chain is likely to find credentials; only a
// request will show.
func (p *Provider) chain(source string, likely bool, missing string) {
	if likely {
		p.CredentialsSource = source
		return
	}
	p.Configured, p.CredentialsSource, p.Missing = false, "none", missing
}

// fromEnvironment takes the first key that is set. Names in the user's file stand
// before the built-in ones.
func (e *entry) fromEnvironment(p *Provider, env config.Env) bool {
	bearers, keys := e.keyNames()
	for _, name := range bearers {
		if key := first(env, name); key != "" {
			p.Auth, p.Key, p.CredentialsSource = AuthBearer, config.NewSecret(key), "environment "+name
			return true
		}
	}
	for _, name := range keys {
		if key := first(env, name); key != "" {
			p.use(config.NewSecret(key), "environment "+name)
			return true
		}
	}
	return false
}

func (e *entry) keyNames() (bearers, keys []string) {
	builtin, user := part(e.builtin), part(e.user)
	if user.BearerEnv != nil || user.APIKeyEnv != nil {
		return user.BearerEnv, user.APIKeyEnv
	}
	return builtin.BearerEnv, builtin.APIKeyEnv
}

// withoutKey decides what it means that there is no key. Engines on one's own
// machine want none; a host that was added without one is taken at its word.
func (e *entry) withoutKey(p *Provider) {
	if e.ownKeyHeader(p) {
		p.Auth, p.CredentialsSource = AuthNone, "configuration"
		return
	}
	bearers, keys := e.keyNames()
	names := slices.Concat(bearers, keys)
	if len(names) == 0 {
		p.Auth, p.CredentialsSource = AuthNone, NotNeeded
		return
	}
	p.Configured, p.CredentialsSource = false, "none"
	p.Missing = "set " + strings.Join(names, " or ") + " in the environment, or api_key"
	if p.API == apiAzure {
		p.Missing += " or auth: azure"
	}
	p.Missing += " in the configuration"
}

// ownKeyHeader: the configured headers bring the key along.
func (e *entry) ownKeyHeader(p *Provider) bool {
	return slices.ContainsFunc(p.Headers, func(h config.Header) bool {
		return h.Name == "Authorization" || strings.EqualFold(h.Name, string(p.Auth))
	})
}

func readKey(path string) (string, error) {
	text, err := readSmall(path)
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(text)
	switch {
	case key == "":
		return "", errors.New("the file " + path + " is empty")
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "", errors.New("the file " + path + " does not hold a key: one line is expected")
	}
	return key, nil
}

// hasAWS looks for the usual signs of AWS credentials without using them.
// https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
func hasAWS(env config.Env) bool {
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	} {
		if first(env, name) != "" {
			return true
		}
	}
	return isFile(cmp.Or(first(env, "AWS_SHARED_CREDENTIALS_FILE"), inHome(env, ".aws", "credentials")))
}

// hasGoogle looks for application default credentials.
// https://cloud.google.com/docs/authentication/application-default-credentials
func hasGoogle(env config.Env) bool {
	return first(env, "GOOGLE_APPLICATION_CREDENTIALS") != "" ||
		isFile(inHome(env, ".config", "gcloud", "application_default_credentials.json"))
}

// hasAzure looks for the usual signs of Azure credentials: a service principal, a
// workload's or an application's identity, or the login of az. A virtual machine's
// identity shows no sign.
// https://learn.microsoft.com/azure/developer/go/sdk/authentication/authentication-overview
func hasAzure(env config.Env) bool {
	tenant, client := first(env, "AZURE_TENANT_ID"), first(env, "AZURE_CLIENT_ID")
	for _, name := range []string{"AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_FEDERATED_TOKEN_FILE"} {
		if first(env, name) != "" && tenant != "" && client != "" {
			return true
		}
	}
	if first(env, "IDENTITY_ENDPOINT") != "" {
		return true
	}
	if dir := first(env, "AZURE_CONFIG_DIR"); dir != "" {
		return isFile(filepath.Join(dir, "msal_token_cache.json"))
	}
	return isFile(inHome(env, ".azure", "msal_token_cache.json"))
}

func inHome(env config.Env, path ...string) string {
	home := first(env, "HOME")
	if home == "" {
		return ""
	}
	return filepath.Join(append([]string{home}, path...)...)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return path != "" && err == nil && info.Mode().IsRegular()
}
