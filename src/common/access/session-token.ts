/** Begins the token of a person's session: no gateway key begins like it. */
export const sessionTokenPrefix = 'gw_session_';

const form = /^gw_session_[\w-]{43}$/;

/** Could this be the token of a session? */
export const isSessionToken = (text: string): boolean => form.test(text);
