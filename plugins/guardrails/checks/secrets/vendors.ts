import { isGatewayKey } from '../../../../src/common/access/gateway-key.js';
import { type AnyKind, code, digits, letters, type SearchKind, type TokenKind } from '../detect/kind.js';
import { classOf } from '../detect/tokens.js';

/** A key with a fixed beginning: `first` is the run of letters and digits that it begins with. */
const keyOf = (
  id: string,
  title: string,
  example: string,
  longest: number,
  first: TokenKind['first'],
  next: string,
  pattern: RegExp,
): TokenKind => ({ id, title, example, longest, first, next, pattern });

/** A key that has fixed characters, `before` characters after its beginning. */
const searchFor = (
  id: string,
  title: string,
  example: string,
  longest: number,
  literal: string,
  pattern: RegExp,
  before = 0,
): SearchKind => ({
  id,
  title,
  example,
  longest,
  form: pattern,
  search(text, from, to, found) {
    const part = text.slice(from, to + literal.length + before);
    for (let at = part.indexOf(literal); at !== -1; at = part.indexOf(literal, at + 1)) {
      const start = from + at - before;
      pattern.lastIndex = start;
      if (start < from || start >= to || classOf(text.charCodeAt(start - 1)) !== 0 || !pattern.test(text))
        continue;
      found(start, pattern.lastIndex);
    }
  },
});

/** A made-up run of letters and digits for the examples, which no scanner of repositories takes for a key. */
const made = (length: number, alphabet = 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7z'): string =>
  Array.from({ length }, (_, index) => alphabet[(index * 11) % alphabet.length]).join('');
const hex = (length: number): string => made(length, '0f1e2d3c4b5a6978');
const upper = (length: number): string => made(length, 'A2B3C4D5E6F7GHIJKLMNOPQRS');

export const cloudKeys: readonly AnyKind[] = [
  keyOf(
    'AWS_ACCESS_KEY',
    'AWS access key id',
    `AKIA${upper(16)}`,
    20,
    [code(20), letters(20)],
    '',
    /(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}/y,
  ),
  {
    id: 'AWS_SECRET_KEY',
    title: 'AWS secret access key, where its name is before it',
    example: `aws_secret_access_key = ${made(20)}/${made(19)}`,
    longest: 64,
    first: [],
    words: ['key', 'secretaccesskey', 'awssecretaccesskey'],
    pattern:
      /[A-Za-z]{3,20}["']?\s{0,3}[:=]\s{0,3}["']?(?<value>(?=[A-Za-z0-9/+]{0,39}\d)[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/y,
    near: ['secret', 'aws', 'secretaccesskey', 'awssecretaccesskey'],
    inside: true,
    valid: (_, { text, start, named }) =>
      named || /secret_?access_?key\W*$/i.test(text.slice(Math.max(0, start - 40), start)),
  },
  searchFor(
    'GCP_API_KEY',
    'Google API key',
    `AIza${made(35)}`,
    39,
    'AIza',
    /AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])/y,
  ),
  keyOf(
    'GCP_OAUTH_SECRET',
    'Google OAuth client secret',
    `GOCSPX-${made(28)}`,
    35,
    [letters(6)],
    '-',
    /GOCSPX-[A-Za-z0-9_-]{28}/y,
  ),
  keyOf(
    'GCP_ACCESS_TOKEN',
    'Google access token',
    `ya29.${made(60)}`,
    2048,
    [code(4)],
    '.',
    /ya29\.[A-Za-z0-9_-]{40,2000}/y,
  ),
  {
    id: 'AZURE_KEY',
    title: 'Azure storage or service bus key in a connection string',
    example: `AccountKey=${made(86)}==`,
    longest: 110,
    first: [],
    words: ['accountkey', 'sharedaccesskey'],
    next: '=',
    pattern: /[A-Za-z]+=(?<value>[A-Za-z0-9+/]{43,86}={1,2})/y,
    inside: true,
  },
  searchFor(
    'AZURE_CLIENT_SECRET',
    'Microsoft Entra client secret',
    `${made(3)}8Q~${made(34)}`,
    41,
    'Q~',
    /[A-Za-z0-9_.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])/y,
    4,
  ),
  keyOf(
    'DIGITALOCEAN_TOKEN',
    'DigitalOcean token',
    `dop_v1_${hex(64)}`,
    71,
    [letters(3)],
    '_',
    /do[opr]_v1_[0-9a-f]{64}/y,
  ),
];

export const codeHostKeys: readonly TokenKind[] = [
  keyOf(
    'GITHUB_TOKEN',
    'GitHub token',
    `ghp_${made(36)}`,
    255,
    [letters(3)],
    '_',
    /gh[pousr]_[A-Za-z0-9]{36,251}/y,
  ),
  keyOf(
    'GITHUB_TOKEN',
    'GitHub fine-grained token',
    `github_pat_${made(22)}_${made(59)}`,
    93,
    [letters(6)],
    '_',
    /github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}/y,
  ),
  keyOf(
    'GITLAB_TOKEN',
    'GitLab token',
    `glpat-${made(20)}`,
    128,
    [letters(4, 6)],
    '-',
    /gl(?:pat|ptt|dt|rt|oas|soat|ft|cbt|agent|imt)-[A-Za-z0-9_-]{20,120}/y,
  ),
  keyOf('NPM_TOKEN', 'npm token', `npm_${made(36)}`, 40, [letters(3)], '_', /npm_[A-Za-z0-9]{36}/y),
  keyOf(
    'PYPI_TOKEN',
    'PyPI token',
    `pypi-AgEIcHlwaS5vcmc${made(60)}`,
    300,
    [letters(4)],
    '-',
    /pypi-AgE[A-Za-z0-9_-]{50,290}/y,
  ),
  keyOf(
    'DOCKER_TOKEN',
    'Docker Hub token',
    `dckr_pat_${made(27)}`,
    60,
    [letters(4)],
    '_',
    /dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,50}/y,
  ),
];

export const serviceKeys: readonly AnyKind[] = [
  keyOf(
    'SLACK_TOKEN',
    'Slack token',
    `xoxb-123456789012-1234567890123-${made(24)}`,
    255,
    [letters(4), code(4)],
    '-',
    /xox[abeprs]-(?:\d-)?[A-Za-z0-9-]{20,250}/y,
  ),
  keyOf(
    'SLACK_TOKEN',
    'Slack app token',
    `xapp-1-A0123456789-1234567890123-${hex(64)}`,
    255,
    [letters(4)],
    '-',
    /xapp-\d-[A-Z0-9]{8,16}-\d{10,16}-[0-9a-f]{32,128}/y,
  ),
  searchFor(
    'SLACK_WEBHOOK',
    'Slack webhook',
    `https://hooks.slack.com/services/T01234567/B01234567/${made(24)}`,
    110,
    'hooks.slack.com/',
    /hooks\.slack\.com\/(?:services|workflows|triggers)\/[A-Za-z0-9+/]{30,80}/y,
  ),
  keyOf(
    'STRIPE_KEY',
    'Stripe secret key',
    `sk_live_${made(24)}`,
    260,
    [letters(2)],
    '_',
    /[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,247}/y,
  ),
  keyOf(
    'STRIPE_WEBHOOK_SECRET',
    'Stripe webhook secret',
    `whsec_${made(32)}`,
    70,
    [letters(5)],
    '_',
    /whsec_[A-Za-z0-9+/=]{32,64}/y,
  ),
  keyOf(
    'OPENAI_KEY',
    'OpenAI key',
    `sk-proj-${made(48)}`,
    260,
    [letters(2)],
    '-',
    /sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{40,240}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|[A-Za-z0-9]{48})(?![A-Za-z0-9_-])/y,
  ),
  keyOf(
    'ANTHROPIC_KEY',
    'Anthropic key',
    `sk-ant-api03-${made(93)}AA`,
    200,
    [letters(2)],
    '-',
    /sk-ant-(?:api|admin|oat|sid)\d\d-[A-Za-z0-9_-]{80,180}/y,
  ),
  keyOf(
    'HUGGINGFACE_TOKEN',
    'Hugging Face token',
    `hf_${made(34, 'aBdEgHjKmNpQsTvWxYz')}`,
    40,
    [letters(2)],
    '_',
    /hf_[A-Za-z0-9]{34,37}/y,
  ),
  keyOf(
    'GROQ_KEY',
    'Groq or xAI key',
    `gsk_${made(52)}`,
    90,
    [letters(3)],
    '_-',
    /(?:gsk_[A-Za-z0-9]{52}|xai-[A-Za-z0-9]{80})/y,
  ),
  keyOf(
    'SENDGRID_KEY',
    'SendGrid key',
    `SG.${made(22)}.${made(43)}`,
    69,
    [letters(2)],
    '.',
    /SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}/y,
  ),
  keyOf('MAILGUN_KEY', 'Mailgun key', `key-${hex(32)}`, 36, [letters(3)], '-', /key-[0-9a-f]{32}/y),
  keyOf('TWILIO_KEY', 'Twilio key', `SK${hex(32)}`, 34, [code(34)], '', /SK[0-9a-f]{32}/y),
  {
    ...keyOf(
      'TWILIO_KEY',
      'Twilio auth token, after the word “Twilio”',
      `twilio auth token ${hex(32)}`,
      32,
      [code(32)],
      '',
      /[0-9a-f]{32}/y,
    ),
    near: ['twilio'],
    needs: 'always',
  },
  keyOf(
    'TELEGRAM_TOKEN',
    'Telegram bot token',
    `123456789:AA${made(33)}`,
    46,
    [digits(8, 10)],
    ':',
    /\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])/y,
  ),
  keyOf(
    'SHOPIFY_TOKEN',
    'Shopify token',
    `shpat_${hex(32)}`,
    38,
    [letters(5)],
    '_',
    /shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}/y,
  ),
  keyOf(
    'SQUARE_TOKEN',
    'Square token',
    `sq0csp-${made(43)}`,
    60,
    [code(6)],
    '-',
    /sq0(?:csp|atp|idp)-[A-Za-z0-9_-]{22,50}/y,
  ),
  keyOf(
    'VAULT_TOKEN',
    'HashiCorp Vault token',
    `hvs.${made(90)}`,
    200,
    [letters(3)],
    '.',
    /hv[sbr]\.[A-Za-z0-9_-]{24,190}/y,
  ),
  keyOf('DATABRICKS_TOKEN', 'Databricks token', `dapi${hex(32)}`, 38, [code(36)], '', /dapi[0-9a-f]{32}/y),
  keyOf('LINEAR_KEY', 'Linear key', `lin_api_${made(40)}`, 48, [letters(3)], '_', /lin_api_[A-Za-z0-9]{40}/y),
  {
    ...keyOf(
      'GATEWAY_KEY',
      'key of this gateway: its checksum',
      'gw_ws_ExampleKey0000000000000000000000000000000002Yi49w',
      60,
      [letters(2)],
      '_',
      /gw_(?:ws|org|user)_[A-Za-z0-9]{49}/y,
    ),
    valid: isGatewayKey,
  },
];
