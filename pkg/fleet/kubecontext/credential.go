package kubecontext

import (
	"cmp"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"time"
)

// CredentialKind is the way in which a kubeconfig identifies its user.
type CredentialKind string

// The kinds of credentials with public facts.
const (
	Certificate CredentialKind = "certificate"
	Token       CredentialKind = "token"
)

// Credential holds the public facts of a credential. They do not allow anyone to log in.
type Credential struct {
	Kind CredentialKind `json:"kind"`
	// User is the name that an API server gives the user.
	User string `json:"user,omitempty"`
	// Groups are the groups in a certificate, or those of every service account.
	Groups []string `json:"groups,omitempty"`
	// NotAfter is the expiry, nil if the credential states none.
	NotAfter *time.Time `json:"notAfter,omitempty"`
	// NotBefore is when it was issued, nil if the credential does not say so.
	NotBefore *time.Time `json:"notBefore,omitempty"`
	// AccountUID is the UID of the service account to which a token was given, "" if unknown.
	AccountUID string `json:"accountUID,omitempty"`
}

// ServiceAccount returns the service account that the user is; ok is false for other users.
func (c Credential) ServiceAccount() (namespace, name string, ok bool) {
	account, isAccount := strings.CutPrefix(c.User, serviceAccount)
	namespace, name, isWhole := strings.Cut(account, ":")
	return namespace, name, isAccount && isWhole && namespace != "" && name != ""
}

// UserNamed returns the credential of a user whose kind and expiry are unknown. Service
// accounts get their groups.
func UserNamed(user string) Credential { return Credential{User: user, Groups: groupsOf(user)} }

// CertificateFacts returns the public facts of the first certificate in PEM data; ok is false
// if there is none.
func CertificateFacts(data []byte) (c Credential, ok bool) {
	for block, more := pem.Decode(data); block != nil; block, more = pem.Decode(more) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		found, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return c, false
		}
		expiry := found.NotAfter.UTC()
		c = Credential{Kind: Certificate, User: found.Subject.CommonName, Groups: found.Subject.Organization, NotAfter: &expiry}
		if issued := found.NotBefore.UTC(); !issued.IsZero() {
			c.NotBefore = &issued
		}
		return c, true
	}
	return c, false
}

// serviceAccount begins the user name of a service account.
const serviceAccount = "system:serviceaccount:"

// TokenFacts returns the public claims of a JSON Web Token; ok is false for other tokens. The
// signature is not checked: the facts are for people, and grant nothing.
func TokenFacts(token string) (c Credential, ok bool) {
	parts := strings.Split(strings.TrimSpace(token), ".")
	if len(parts) != 3 {
		return c, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return c, false
	}
	var claims struct {
		Subject string   `json:"sub"`
		Expiry  *float64 `json:"exp"`
		Issued  *float64 `json:"iat"`
		Bound   struct {
			Account struct {
				UID string `json:"uid"`
			} `json:"serviceaccount"`
		} `json:"kubernetes.io"`
		// UID is the claim of a token that does not expire.
		UID string `json:"kubernetes.io/serviceaccount/service-account.uid"`
	}
	if json.Unmarshal(payload, &claims) != nil {
		return c, false
	}
	c = Credential{Kind: Token, User: claims.Subject, Groups: groupsOf(claims.Subject), AccountUID: cmp.Or(claims.Bound.Account.UID, claims.UID)}
	c.NotAfter, c.NotBefore = timeOf(claims.Expiry), timeOf(claims.Issued)
	return c, true
}

// timeOf returns the time of a claim, nil if there is none. 1e11 seconds are 3000 years. Later times
// cannot be shown.
func timeOf(claim *float64) *time.Time {
	if claim == nil || *claim <= 0 || *claim >= 1e11 {
		return nil
	}
	t := time.Unix(int64(*claim), 0).UTC()
	return &t
}

// groupsOf returns the groups that Kubernetes gives a service account (kubernetes:
// pkg/serviceaccount/util.go).
func groupsOf(user string) []string {
	name, ok := strings.CutPrefix(user, serviceAccount)
	namespace, _, isWhole := strings.Cut(name, ":")
	if !ok || !isWhole {
		return nil
	}
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
}

// String describes the credential.
func (c Credential) String() string {
	if name, ok := strings.CutPrefix(c.User, serviceAccount); ok {
		return cmp.Or(string(c.Kind), "credential") + " of service account " + strings.Replace(name, ":", "/", 1)
	}
	if c.User == "" {
		return string(c.Kind)
	}
	return cmp.Or(string(c.Kind), "credential") + " of " + c.User
}
