import { alnum, hex, lower, type Random, upper } from './random.js';

export interface SecretMaker {
  readonly kind: string;
  readonly labels: readonly string[];
  value(random: Random): string;
  /** What follows the value. */
  readonly after?: string;
}

const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const url = `${alnum}-_`;
const plain = ['key', 'use', 'token is', 'export KEY=', 'the credential:', 'mein Schlüssel:', 'clé :', '-H'];
const row = (
  kind: string,
  value: (random: Random) => string,
  labels: readonly string[] = plain,
): SecretMaker => ({ kind, labels, value });
/** As a provider makes them: no run of them is a word. */
const random64 = (r: Random, length: number, alphabet = alnum): string => {
  const text = r.chars(length, alphabet);
  return /\d/.test(text) && /[A-Z]/.test(text) && /^[A-Za-z0-9].*[A-Za-z0-9]$/.test(text)
    ? text
    : random64(r, length, alphabet);
};
const b64 = (text: string): string => Buffer.from(text).toString('base64url');

export const secretMakers: readonly SecretMaker[] = [
  row('AWS_ACCESS_KEY', (r) => r.pick(['AKIA', 'ASIA']) + r.chars(16, base32)),
  row(
    'AWS_SECRET_KEY',
    (r) => `${random64(r, 20)}${r.pick(['/', '+', ''])}${random64(r, 20)}`.slice(0, 40).padEnd(40, 'q7'),
    ['aws_secret_access_key =', 'AWS_SECRET_ACCESS_KEY=', 'secretAccessKey:'],
  ),
  row('GCP_API_KEY', (r) => `AIza${random64(r, 35, url)}`),
  row('GCP_OAUTH_SECRET', (r) => `GOCSPX-${random64(r, 28, url)}`),
  row('AZURE_KEY', (r) => `${random64(r, 86, `${alnum}+/`)}==`, [
    'AccountKey=',
    'DefaultEndpointsProtocol=https;AccountName=x;AccountKey=',
    'SharedAccessKey=',
  ]),
  row('AZURE_CLIENT_SECRET', (r) => `${random64(r, 3)}8Q~${random64(r, 34)}`),
  row('GITHUB_TOKEN', (r) =>
    r.pick([
      () => `${r.pick(['ghp', 'gho', 'ghs'])}_${random64(r, 36)}`,
      () => `github_pat_${random64(r, 22)}_${random64(r, 59)}`,
    ])(),
  ),
  row('GITLAB_TOKEN', (r) => `glpat-${random64(r, 20, url)}`),
  row('NPM_TOKEN', (r) => `npm_${random64(r, 36)}`),
  row('PYPI_TOKEN', (r) => `pypi-AgEIcHlwaS5vcmcCJ${random64(r, 130, url)}`),
  row('SLACK_TOKEN', (r) => `xox${r.pick(['b', 'p'])}-${r.number(12)}-${r.number(13)}-${random64(r, 24)}`),
  row(
    'SLACK_WEBHOOK',
    (r) => `hooks.slack.com/services/T${r.chars(9, base32)}/B${r.chars(9, base32)}/${random64(r, 24)}`,
    ['curl https://', 'post to https://'],
  ),
  row('STRIPE_KEY', (r) => `${r.pick(['sk_live_', 'rk_live_', 'sk_test_'])}${random64(r, 24)}`),
  row('OPENAI_KEY', (r) =>
    r.pick([
      () => `sk-proj-${random64(r, 120, url)}`,
      () => `sk-${random64(r, 20)}T3BlbkFJ${random64(r, 20)}`,
    ])(),
  ),
  row('ANTHROPIC_KEY', (r) => `sk-ant-api03-${random64(r, 93, url)}AA`),
  row('HUGGINGFACE_TOKEN', (r) => `hf_${r.chars(34, upper + lower)}`),
  row('GROQ_KEY', (r) => `gsk_${random64(r, 52)}`),
  row('SENDGRID_KEY', (r) => `SG.${random64(r, 22, url)}.${random64(r, 43, url)}`),
  row('TWILIO_KEY', (r) => `SK${r.chars(32, hex)}`),
  row('TELEGRAM_TOKEN', (r) => `${r.number(10)}:AA${random64(r, 33, url)}`),
  row('SHOPIFY_TOKEN', (r) => `shpat_${r.chars(32, hex)}`),
  row('DIGITALOCEAN_TOKEN', (r) => `dop_v1_${r.chars(64, hex)}`),
  row('VAULT_TOKEN', (r) => `hvs.${random64(r, 92, url)}`),
  row(
    'PRIVATE_KEY',
    (r) => {
      const kind = r.pick(['RSA ', 'EC ', 'OPENSSH ', '']);
      const lines = Array.from({ length: 6 }, () => r.chars(64, `${alnum}+/`));
      const feed = r.pick(['\n', '\\n']);
      return [`-----BEGIN ${kind}PRIVATE KEY-----`, ...lines, `-----END ${kind}PRIVATE KEY-----`].join(feed);
    },
    ['"private_key": "', 'my key:', 'cat id_rsa\n'],
  ),
  row(
    'JWT',
    (r) =>
      `${b64('{"alg":"RS256","typ":"JWT"}')}.${b64(`{"sub":"${r.digits(8)}","exp":1${r.digits(9)}}`)}.${random64(r, 86, url)}`,
  ),
  {
    ...row('URL_CREDENTIALS', (r) => `${r.pick(['admin', 'app', 'svc_user'])}:${random64(r, 12)}`, [
      'postgres://',
      'https://',
      'connect to redis://',
    ]),
    after: '@db.example.org/app',
  },
  row('PASSWORD', (r) => `${random64(r, 10)}${r.pick(['!', '#', '$', ''])}`, [
    'password=',
    'password: ',
    'my password is ',
    'PASSWORD = "',
    'Passwort: ',
    'mot de passe : ',
    'db_password: ',
  ]),
  row('SECRET_VALUE', (r) => random64(r, r.between(24, 48)), [
    'api_key=',
    'API_KEY: "',
    'client_secret = ',
    '"token": "',
    'secret: ',
    'access_token=',
  ]),
  row('AUTHORIZATION', (r) => random64(r, 40, `${alnum}._-`), ['Authorization: Bearer ', 'header "Bearer ']),
];
