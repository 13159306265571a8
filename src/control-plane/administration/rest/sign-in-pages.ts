import type { RestAnswer } from './request.js';

/** Small pages for browsers, which have no console yet. They load nothing but their own script and style. */

const policy =
  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const htmlHeaders = [
  'content-type',
  'text/html; charset=utf-8',
  'content-security-policy',
  policy,
  'referrer-policy',
  'no-referrer',
];

const html = (title: string, body: string): string =>
  `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escaped(title)} · Headgate</title><link rel="stylesheet" href="/docs/style.css">
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><main><h1>${escaped(title)}</h1>
${body}
</main></body>
</html>
`;

/** A page of one sentence. */
export const plainPage = (title: string, sentence: string, headers: readonly string[]): RestAnswer => ({
  status: 200,
  headers: [...htmlHeaders, ...headers],
  body: html(title, `<p>${escaped(sentence)}</p>`),
});

const form = `<p id="message">Choose a password of at least 12 characters.</p>
<form id="accept">
<p><label>E-mail address (only the first owner fills this in) <input name="email" type="email" autocomplete="username"></label></p>
<p><label>First name <input name="first_name" autocomplete="given-name"></label></p>
<p><label>Last name <input name="last_name" autocomplete="family-name"></label></p>
<p><label>Password <input name="password" type="password" autocomplete="new-password" minlength="12" required></label></p>
<p><button>Accept</button></p>
</form>
<noscript><p>This page needs JavaScript: else send the token of the link to POST /v1/admin/users/invites/accept.</p></noscript>
<script src="/v1/admin/users/invites/accept.js"></script>`;

/** What the link of an invitation shows. The token follows the #, and only the script reads it. */
export const acceptPage = (): RestAnswer => ({
  status: 200,
  headers: htmlHeaders,
  body: html('Accept the invitation', form),
});

const script = `'use strict';
const form = document.getElementById('accept');
const message = document.getElementById('message');
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const fields = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ''));
  const token = location.hash.replace(/^#token=/, '');
  const answer = await fetch('/v1/admin/users/invites/accept', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...fields, token }),
  });
  const body = await answer.json();
  message.textContent = answer.ok
    ? 'Done: ' + body.user.email + ' can sign in now.'
    : body.data.message;
  if (answer.ok) form.remove();
});
`;

export const acceptScript = (): RestAnswer => ({
  status: 200,
  headers: ['content-type', 'text/javascript; charset=utf-8'],
  body: script,
});
