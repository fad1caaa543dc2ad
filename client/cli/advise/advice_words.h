// The sentences of an advice, the same for the terminal, the page and JSON.

#ifndef PACKHOUSE_CLIENT_CLI_ADVISE_ADVICE_WORDS_H_
#define PACKHOUSE_CLIENT_CLI_ADVISE_ADVICE_WORDS_H_

#include <string>

#include "client/cli/advise/advice.h"

namespace packhouse {

// The options with which plan, stream and verify pack as this row, those with
// their default left out; of the policies, what this list needs.
std::string SpecOptions(const CapacityAdvice& capacity, const AdviceRow& row);

// Why the recommended row of the recommended capacity is recommended.
std::string Reason(const Advice& advice);

// The same of the row of a capacity, without what led to the capacity.
std::string RowReason(const CapacityAdvice& capacity);

// What the limit of sequences a pack does at this capacity; empty without one.
std::string LimitSentence(const Advice& advice, const CapacityAdvice& capacity);

// What is over-long at this capacity, and what becomes of it.
std::string OverlongSentence(const Advice& advice,
                             const CapacityAdvice& capacity);

// "98.76 %".
std::string PercentText(double ratio);

// A number with three digits or more: "1,234", "98.7", "2.31".
std::string ShortNumber(double number);

// `singular` or its plural behind the number: "1 pack", "2 packs".
std::string Counted(uint64_t number, const std::string& singular);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_ADVISE_ADVICE_WORDS_H_
