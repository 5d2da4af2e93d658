"""Broker keys of Kafka's security, unused so far: authentication, authorization and TLS."""

from drumbeat.runtime.config.table import Section

AUTHENTICATION = """
authorizer.class.name string ""
connection.failed.authentication.delay.ms int 100 0..
connections.max.reauth.ms long 0
delegation.token.expiry.check.interval.ms long 3600000 1..
delegation.token.expiry.time.ms long 86400000 1..
delegation.token.max.lifetime.ms long 604800000 1..
delegation.token.secret.key password null
principal.builder.class class \
org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder dynamic
security.inter.broker.protocol string PLAINTEXT {PLAINTEXT,SSL,SASL_PLAINTEXT,SASL_SSL}
security.providers string null
"""

SASL = """
sasl.client.callback.handler.class class null
sasl.enabled.mechanisms list GSSAPI dynamic
sasl.jaas.config password null dynamic
sasl.kerberos.kinit.cmd string /usr/bin/kinit dynamic
sasl.kerberos.min.time.before.relogin long 60000 dynamic
sasl.kerberos.principal.to.local.rules list DEFAULT dynamic
sasl.kerberos.service.name string null dynamic
sasl.kerberos.ticket.renew.jitter double 0.05 dynamic
sasl.kerberos.ticket.renew.window.factor double 0.8 dynamic
sasl.login.callback.handler.class class null
sasl.login.class class null
sasl.login.connect.timeout.ms int null
sasl.login.read.timeout.ms int null
sasl.login.refresh.buffer.seconds short 300 dynamic
sasl.login.refresh.min.period.seconds short 60 dynamic
sasl.login.refresh.window.factor double 0.8 dynamic
sasl.login.refresh.window.jitter double 0.05 dynamic
sasl.login.retry.backoff.max.ms long 10000
sasl.login.retry.backoff.ms long 100
sasl.mechanism.controller.protocol string GSSAPI
sasl.mechanism.inter.broker.protocol string GSSAPI dynamic
sasl.oauthbearer.assertion.algorithm string RS256 {ES256,RS256}i
sasl.oauthbearer.assertion.claim.aud string null
sasl.oauthbearer.assertion.claim.exp.seconds int 300 0..86400
sasl.oauthbearer.assertion.claim.iss string null
sasl.oauthbearer.assertion.claim.jti.include boolean false
sasl.oauthbearer.assertion.claim.nbf.seconds int 60 0..3600
sasl.oauthbearer.assertion.claim.sub string null
sasl.oauthbearer.assertion.file string null
sasl.oauthbearer.assertion.private.key.file string null
sasl.oauthbearer.assertion.private.key.passphrase password null
sasl.oauthbearer.assertion.template.file string null
sasl.oauthbearer.client.credentials.client.id string null
sasl.oauthbearer.client.credentials.client.secret password null
sasl.oauthbearer.clock.skew.seconds int 30
sasl.oauthbearer.expected.audience list ""
sasl.oauthbearer.expected.issuer string null
sasl.oauthbearer.jwks.endpoint.refresh.ms long 3600000
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms long 10000
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms long 100
sasl.oauthbearer.jwks.endpoint.url string null
sasl.oauthbearer.jwt.retriever.class class \
org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever
sasl.oauthbearer.jwt.validator.class class \
org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator
sasl.oauthbearer.scope string null
sasl.oauthbearer.scope.claim.name string scope
sasl.oauthbearer.sub.claim.name string sub
sasl.oauthbearer.token.endpoint.url string null
sasl.server.callback.handler.class class null
sasl.server.max.receive.size int 524288
"""

TLS = """
ssl.allow.dn.changes boolean false
ssl.allow.san.changes boolean false
ssl.cipher.suites list "" dynamic
ssl.client.auth string none {required,requested,none} dynamic
ssl.enabled.protocols list TLSv1.2,TLSv1.3 dynamic
ssl.endpoint.identification.algorithm string https dynamic
ssl.engine.factory.class class null dynamic
ssl.key.password password null dynamic
ssl.keymanager.algorithm string SunX509 dynamic
ssl.keystore.certificate.chain password null dynamic
ssl.keystore.key password null dynamic
ssl.keystore.location string null dynamic
ssl.keystore.password password null dynamic
ssl.keystore.type string JKS dynamic
ssl.principal.mapping.rules string DEFAULT
ssl.protocol string TLSv1.3 dynamic
ssl.provider string null dynamic
ssl.secure.random.implementation string null dynamic
ssl.trustmanager.algorithm string PKIX dynamic
ssl.truststore.certificates password null dynamic
ssl.truststore.location string null dynamic
ssl.truststore.password password null dynamic
ssl.truststore.type string JKS dynamic
"""

SECTIONS = (
    Section("Authentication and authorization", AUTHENTICATION),
    Section("SASL", SASL),
    Section("TLS", TLS),
)
