/**
 * Headers that belong to one connection, or to how a message is framed (RFC 9110 §7.6.1). They are not passed on, and no one
 * may set them. Names in lower case.
 */
export const connectionHeaders: readonly string[] = [
  ...['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive', 'proxy-connection'],
  ...['te', 'trailer', 'upgrade', 'expect'],
];
