import { type ErrorCode, GatewayError } from '../../src/common/core/errors.js';
import type { GivenHeaders } from './gateway-headers.js';

/**
 * Refuses inline values if the organisation blocks them: the call may name only saved configs and stored
 * providers. Throws with a code for the kind of value.
 */
export function refuseInline(given: GivenHeaders, prefix: string): void {
  const refuse = (code: ErrorCode, name: keyof GivenHeaders, instead: string): never => {
    throw new GatewayError(code, `This organisation does not allow ${prefix}${name} like this: ${instead}.`, {
      param: `${prefix}${name}`,
    });
  };
  if (given.config?.trimStart().startsWith('{'))
    refuse('inline_config_blocked', 'config', 'save the config and name it by its slug');
  if (given.provider !== undefined && !given.provider.startsWith('@'))
    refuse('inline_provider_blocked', 'provider', 'store the provider and name it as @slug');
  if (given['custom-host'] !== undefined)
    refuse(
      'inline_custom_host_blocked',
      'custom-host',
      'put the host into a saved config or a stored provider',
    );
  if (given['azure-foundry-url'] !== undefined)
    refuse(
      'inline_custom_host_blocked',
      'azure-foundry-url',
      'put it into a saved config or a stored provider',
    );
  if (given['forward-headers'] !== undefined)
    refuse('inline_forward_headers_blocked', 'forward-headers', 'put the names into a saved config');
}
