/** Where AWS puts the identity of what runs on it, by the names that its own libraries read. */
export interface AwsEnvironment {
  readonly accessKeyId: string | null;
  readonly secretAccessKey: string | null;
  readonly sessionToken: string | null;
  /** A role and the file whose token may assume it: EKS service accounts. */
  readonly roleArn: string | null;
  readonly webIdentityTokenFile: string | null;
  /** Keys of ECS tasks and EKS pods. */
  readonly containerRelativeUri: string | null;
  readonly containerFullUri: string | null;
  readonly containerTokenFile: string | null;
  /** Another address of an instance's metadata service. */
  readonly metadataEndpoint: string | null;
  /** Another address of the token service: an endpoint within one's own network. */
  readonly stsEndpoint: string | null;
  /** The same of Secrets Manager. */
  readonly secretsManagerEndpoint: string | null;
  readonly region: string | null;
}

/** Read at each use: pods are given new ones while they run. */
export function awsEnvironment(): AwsEnvironment {
  const get = (name: string): string | null => process.env[name] || null;
  return {
    accessKeyId: get('AWS_ACCESS_KEY_ID'),
    secretAccessKey: get('AWS_SECRET_ACCESS_KEY'),
    sessionToken: get('AWS_SESSION_TOKEN'),
    roleArn: get('AWS_ROLE_ARN'),
    webIdentityTokenFile: get('AWS_WEB_IDENTITY_TOKEN_FILE'),
    containerRelativeUri: get('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI'),
    containerFullUri: get('AWS_CONTAINER_CREDENTIALS_FULL_URI'),
    containerTokenFile: get('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE'),
    metadataEndpoint: get('AWS_EC2_METADATA_SERVICE_ENDPOINT'),
    stsEndpoint: get('AWS_ENDPOINT_URL_STS') ?? get('AWS_ENDPOINT_URL'),
    secretsManagerEndpoint: get('AWS_ENDPOINT_URL_SECRETS_MANAGER') ?? get('AWS_ENDPOINT_URL'),
    region: get('AWS_REGION') ?? get('AWS_DEFAULT_REGION'),
  };
}
