/** What is wrong with the URL of a webhook; quotes nothing of it, since it may contain a token. */
export function webhookUrlProblems(text: string): readonly string[] {
  if (!/^https?:/i.test(text) || !URL.canParse(text)) return [': must be an http or https URL'];
  const { username, password } = new URL(text);
  return username === '' && password === ''
    ? []
    : [': must have no user or password; calls are signed with alert_webhook_secret'];
}
