// A field that selects a server, in forms and filters.
import { type Choices, SuggestField } from './suggest_field.tsx';

interface ServerFieldProps {
  value: string;
  onInput: (value: string) => void;
  /** The option for no server, such as "All servers"; undefined: a server is required. */
  none?: string;
  name?: string;
  required?: boolean;
  /** Those of the account, or of the network. */
  useChoices: (search: string) => Choices;
}

export function ServerField({ none, ...props }: ServerFieldProps) {
  const others = none === undefined ? [] : [{ value: '', text: none }];
  return (
    <SuggestField name="server" {...props} label="Server" listName="the servers" others={others} />
  );
}
