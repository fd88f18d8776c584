// SPDX-License-Identifier: Apache-2.0
//
// The server's side of TLS, for origins of tests. Some of it are macros, which Swift does not see.
#pragma once
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

// Makes a server's context with a certificate and its key, both in PEM; NULL if either is wrong.
static inline SSL_CTX *ctesttls_context(const char *certificate, const char *key) {
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  BIO *certificate_text = BIO_new_mem_buf(certificate, -1);
  BIO *key_text = BIO_new_mem_buf(key, -1);
  X509 *read_certificate = PEM_read_bio_X509(certificate_text, NULL, NULL, NULL);
  EVP_PKEY *read_key = PEM_read_bio_PrivateKey(key_text, NULL, NULL, NULL);
  int is_good = context != NULL && read_certificate != NULL && read_key != NULL &&
                SSL_CTX_use_certificate(context, read_certificate) == 1 &&
                SSL_CTX_use_PrivateKey(context, read_key) == 1;
  X509_free(read_certificate);
  EVP_PKEY_free(read_key);
  BIO_free(certificate_text);
  BIO_free(key_text);
  if (is_good) return context;
  SSL_CTX_free(context);
  return NULL;
}

// Chooses HTTP/2 when the client offers it, if `argument` is not NULL, and HTTP/1.1 otherwise.
static int ctesttls_choose(
    SSL *connection, const unsigned char **chosen, unsigned char *length,
    const unsigned char *offered, unsigned int offered_length, void *argument) {
  static const unsigned char both[] = "\x02h2\x08http/1.1";
  const unsigned char *wanted = argument ? both : both + 3;
  unsigned int wanted_length = argument ? 12 : 9;
  (void)connection;
  return SSL_select_next_proto(
             (unsigned char **)chosen, length, wanted, wanted_length, offered, offered_length) ==
                 OPENSSL_NPN_NEGOTIATED
             ? SSL_TLSEXT_ERR_OK
             : SSL_TLSEXT_ERR_NOACK;
}

static inline void ctesttls_offer(SSL_CTX *context, int has_http2) {
  SSL_CTX_set_alpn_select_cb(context, ctesttls_choose, has_http2 ? context : NULL);
}
