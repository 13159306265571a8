/** A part of what a partner is called with. */
export interface PartnerField {
  readonly name: string;
  /** Other spellings, which are stored under `name`. */
  readonly aliases?: readonly string[];
  /** Is it shown unmasked? */
  readonly isPublic?: true;
  /** Completes the sentence "<path> …" where it does not match. */
  readonly rule?: { readonly pattern: RegExp; readonly description: string };
}

/** A service that checks of guardrails ask, with credentials of the organisation. */
export interface Partner {
  readonly name: string;
  readonly fields: readonly PartnerField[];
  /** Of each set all fields are needed; one set is enough. */
  readonly needs: readonly (readonly string[])[];
  /** Integrations that may lend their credential: names of providers, and where each field is taken from. */
  readonly lender?: {
    readonly providers: readonly string[];
    readonly fields: Readonly<Record<string, string>>;
  };
}

const apiKey: PartnerField = { name: 'apiKey', aliases: ['api_key'] };
const host = { pattern: /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i, description: 'must be the name of a host' };
const address = {
  pattern: /^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/,
  description: 'must be an http or https URL',
};
/** Of a service that a partner's customer runs, or another region. */
const baseUrl: PartnerField = {
  name: 'baseUrl',
  aliases: ['baseURL', 'base_url', 'apiEndpoint', 'calypsoUrl', 'customHost'],
  isPublic: true,
  rule: address,
};

const azureFields: readonly PartnerField[] = [
  {
    name: 'resourceName',
    isPublic: true,
    rule: { pattern: /^[a-z0-9][a-z0-9-]{0,63}$/i, description: 'must be the name of an Azure resource' },
  },
  {
    name: 'azureAuthMode',
    isPublic: true,
    rule: { pattern: /^(?:apiKey|entra)$/, description: 'must be apiKey or entra' },
  },
  {
    name: 'tenantId',
    aliases: ['azureEntraTenantId'],
    isPublic: true,
    rule: { pattern: /^[\w.-]{1,128}$/, description: 'must be the id of a tenant' },
  },
  { name: 'clientId', aliases: ['azureEntraClientId'], isPublic: true },
  { name: 'clientSecret', aliases: ['azureEntraClientSecret'] },
];
/** Azure has two services: each may have credentials of its own, `pii.apiKey`. */
const azurePlaces = ['', 'pii.', 'contentSafety.'];
const azure: Partner = {
  name: 'Azure AI',
  fields: azurePlaces.flatMap((place) =>
    [apiKey, baseUrl, ...azureFields].map((field) => ({
      ...field,
      name: `${place}${field.name}`,
      aliases: (field.aliases ?? []).map((alias) => `${place}${alias}`),
    })),
  ),
  needs: azurePlaces.flatMap((place) =>
    [['apiKey'], ['tenantId', 'clientId', 'clientSecret']].flatMap((keys) =>
      ['resourceName', 'baseUrl'].map((where) => [where, ...keys].map((field) => `${place}${field}`)),
    ),
  ),
};

const keyed = (name: string, more: Partial<Partner> = {}): Partner => ({
  name,
  needs: [['apiKey']],
  ...more,
  fields: [apiKey, baseUrl, ...(more.fields ?? [])],
});
const domain: PartnerField = { name: 'domain', isPublic: true, rule: host };

const all: Readonly<Record<string, Partner>> = {
  azure,
  bedrock: {
    name: 'Amazon Bedrock',
    fields: [
      { name: 'accessKeyId', aliases: ['awsAccessKeyId', 'aws_access_key_id'], isPublic: true },
      {
        name: 'accessKeySecret',
        aliases: ['secretAccessKey', 'awsSecretAccessKey', 'aws_secret_access_key'],
      },
      { name: 'awsSessionToken', aliases: ['sessionToken', 'aws_session_token'] },
      {
        name: 'region',
        aliases: ['awsRegion', 'aws_region'],
        isPublic: true,
        rule: {
          pattern: /^[a-z]{2,}(?:-[a-z0-9]+)+$/,
          description: 'must be a region of AWS, as in us-east-1',
        },
      },
      baseUrl,
    ],
    needs: [['accessKeyId', 'accessKeySecret', 'region']],
    lender: {
      providers: ['bedrock'],
      fields: {
        accessKeyId: 'aws_access_key_id',
        accessKeySecret: 'aws_secret_access_key',
        awsSessionToken: 'aws_session_token',
        region: 'aws_region',
      },
    },
  },
  mistral: keyed('Mistral AI', { lender: { providers: ['mistral-ai'], fields: { apiKey: 'key' } } }),
  patronus: keyed('Patronus AI'),
  pillar: keyed('Pillar Security'),
  promptfoo: keyed('Promptfoo', { needs: [[]] }),
  acuvity: keyed('Acuvity'),
  sydelabs: keyed('SydeLabs'),
  aporia: keyed('Aporia'),
  lasso: keyed('Lasso Security'),
  'panw-prisma-airs': {
    name: 'Palo Alto Networks Prisma AIRS',
    fields: [{ ...apiKey, aliases: ['api_key', 'AIRS_API_KEY'] }, baseUrl],
    needs: [['apiKey']],
  },
  akto: keyed('Akto'),
  'crowdstrike-aidr': keyed('CrowdStrike AIDR', { needs: [['apiKey', 'baseUrl']] }),
  exa: keyed('Exa'),
  'f5-guardrails': keyed('F5 AI Guardrails', { fields: [{ name: 'projectId', isPublic: true }] }),
  javelin: keyed('Javelin', {
    fields: [domain, { name: 'application', isPublic: true }],
    needs: [['apiKey', 'application']],
  }),
  pangea: keyed('Pangea', {
    fields: [domain],
    needs: [
      ['apiKey', 'domain'],
      ['apiKey', 'baseUrl'],
    ],
  }),
  promptsecurity: keyed('Prompt Security', {
    fields: [{ name: 'apiDomain', isPublic: true, rule: host }],
    needs: [
      ['apiKey', 'apiDomain'],
      ['apiKey', 'baseUrl'],
    ],
  }),
  qualifire: keyed('Qualifire'),
  walledai: keyed('Walled AI'),
  zscalerAiGuard: keyed('Zscaler AI Guard'),
};

/** Every partner by its id: what precedes the point in the ids of its checks. */
export const partners: ReadonlyMap<string, Partner> = new Map(Object.entries(all));

/** Spellings of ids. */
const otherIds: Readonly<Record<string, string>> = {
  panwPrismaAirs: 'panw-prisma-airs',
  zscaler: 'zscalerAiGuard',
};

/** The id of a partner, of which there may be several spellings; undefined: there is none. */
export const partnerId = (id: string): string | undefined => {
  const known = Object.hasOwn(otherIds, id) ? otherIds[id]! : id;
  return partners.has(known) ? known : undefined;
};

/** The partner that a check asks; undefined: none. */
export const partnerOfCheck = (check: string): string | undefined => partnerId(check.split('.', 1)[0]!);
