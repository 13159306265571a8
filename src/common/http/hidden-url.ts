/**
 * The URL with `hide` in place of parts that may hold credentials: user, query and fragment; of the whole text if it is
 * not an http URL.
 */
export function hiddenUrl(url: string, hide: (secret: string) => string): string {
  if (!/^\s*https?:/i.test(url) || !URL.canParse(url)) return hide(url);
  const { protocol, username, password, host, pathname, search, hash } = new URL(url);
  if (username === '' && password === '' && search === '' && hash === '') return url;
  const user = username === '' && password === '' ? '' : `${hide(`${username}:${password}`)}@`;
  const query = search === '' ? '' : `?${hide(search.slice(1))}`;
  const fragment = hash === '' ? '' : `#${hide(hash.slice(1))}`;
  return `${protocol}//${user}${host}${pathname}${query}${fragment}`;
}
