import { GatewayError } from '../../../common/core/errors.js';
import { isHeaderValue } from '../../../common/http/headers.js';
import { AwsAuthorizer, awsRegion } from '../auth/aws.js';
import { awsDomain } from '../auth/aws-sts.js';
import type { CallFields } from '../call-fields.js';
import type { ProviderDefinition, RowCall } from '../provider.js';

/**
 * SageMaker's endpoints: whatever a container of one's own speaks, so bodies are passed through and signed
 * (`POST /v1/endpoints/<name>/invocations`).
 */
export const sagemaker: ProviderDefinition = {
  name: 'sagemaker',
  base: 'https://runtime.sagemaker.us-east-1.amazonaws.com',
  auth: { kind: 'per-call', authorizer: new AwsAuthorizer('sagemaker') },
  paths: {},
  forCall,
  source: 'https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpoint.html',
};

/** Fields that are sent as headers, `amzn_sagemaker_` and `X-Amzn-SageMaker-` left out. */
const sent = [
  'custom-attributes',
  'target-model',
  'target-variant',
  'target-container-hostname',
  'inference-id',
  'enable-explanations',
  'inference-component',
  'session-id',
];

function forCall({ format, hasBase, fields }: RowCall): ProviderDefinition {
  if (format !== 'none') return sagemaker;
  // The signature has a region in it, wherever the call goes.
  const region = awsRegion(fields, null);
  const row = { ...sagemaker, headers: headersFrom(fields) };
  return hasBase ? row : { ...row, base: `https://runtime.sagemaker.${region}.${awsDomain(region)}` };
}

function headersFrom(fields: CallFields): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of sent) {
    const field = `amzn_sagemaker_${name.replaceAll('-', '_')}`;
    const value = fields.get(field);
    if (value === null) continue;
    if (!isHeaderValue(value)) {
      throw new GatewayError('invalid_request', `${field} must be a text that a header can hold.`, {
        param: field,
      });
    }
    headers[`x-amzn-sagemaker-${name}`] = value;
  }
  return headers;
}
