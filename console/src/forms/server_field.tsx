// The choice of a server, in forms and filters.
import { type Choices, SuggestField } from './suggest_field.tsx';

interface ServerFieldProps {
  value: string;
  onInput: (value: string) => void;
  /** "All servers", the choice of none; undefined: one has to be chosen. */
  none?: string;
  name?: string;
  required?: boolean;
  /** Those of the account, or of the network. */
  useChoices: (search: string) => Choices;
}

export function ServerField({ none, ...props }: ServerFieldProps) {
  const others = none === undefined ? [] : [{ value: '', text: none }];
  return (
    <SuggestField name="server" {...props} label="Server" what="the servers" others={others} />
  );
}
