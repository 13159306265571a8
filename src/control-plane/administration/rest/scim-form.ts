/** The form of SCIM's answers over HTTP, RFC 7644: media type, errors, which paths are SCIM's. */

export const scimType = 'application/scim+json';

const scimPath = /^\/v1\/scim\/(?!(?:workspaces|groups)(?:\/|$))[^/]+\/./;

/** Is it a path of SCIM itself? The mappings of groups are not: their answers have the usual form. */
export const isScimPath = (path: string): boolean => scimPath.test(path);

interface ScimRefused {
  readonly message: string;
  readonly answered: { readonly http: number };
  readonly scimType?: string;
  readonly faults?: readonly { readonly path: string }[];
}

/** The `scimType` of an error that names none. */
function usualType({ answered, faults = [] }: ScimRefused): string | undefined {
  const [fault] = faults;
  if (answered.http === 409) return 'uniqueness';
  if (answered.http !== 400) return undefined;
  if (fault === undefined) return 'invalidSyntax';
  return fault.path === 'filter' ? 'invalidFilter' : 'invalidValue';
}

/** The body of a refusal. */
export function scimRefusal(error: ScimRefused): Record<string, unknown> {
  const type = error.scimType ?? usualType(error);
  return {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
    status: String(error.answered.http),
    ...(type !== undefined && { scimType: type }),
    detail: error.message,
  };
}
