// What a case is, for those that ask which options have met in one: a level in each of some attributes.
//
// An attribute is an option of the task (left out, None, given; an axis first, last or between; one of its texts), how
// the inputs lie in memory, their dtypes, the number of dimensions.
#ifndef KG_OPTION_LEVELS_H
#define KG_OPTION_LEVELS_H

#include "task/task.h"

#define KG_LEVELS     12
#define KG_ATTRIBUTES (KG_MAX_ARGS + 4)
#define KG_PLACES     (KG_ATTRIBUTES * KG_LEVELS)
#define KG_TEXTS      (KG_LEVELS - 2)

// The texts that options of the task have had, in the order they came: theirs are the levels from KG_LEVELS - KG_TEXTS.
typedef struct {
    const kg_task *t;
    const char *text[KG_MAX_ARGS][KG_TEXTS];
} kg_level_names;

// Where a case stands: attribute * KG_LEVELS + level, of each attribute that it has.
typedef struct {
    int n;
    short place[KG_ATTRIBUTES];
} kg_profile;

kg_profile kg_profile_of(kg_level_names *names, const kg_case *c);
int kg_level_of(kg_level_names *names, const kg_case *c, int param);

bool kg_is_option(const kg_param *p);  // a level of it can be chosen
bool kg_is_axis(const kg_param *p);
// The attribute is an option, the strides or the dtype: what cases can be changed in.
bool kg_is_chosen(const kg_task *t, int place);
bool kg_is_left_out(int place);
// It is the dtype, and one that hides what an option does to the last digits.
bool kg_is_coarse(int place);
bool kg_is_python_only(const kg_task *t, int place);  // out is given

bool kg_is_plain_input(const kg_param *p, const kg_arg *a);  // a tensor that the candidate is given
bool kg_is_strided(const kg_task *t, const kg_case *c);
const kg_tensor *kg_first_tensor(const kg_case *c);  // NULL: it has none
// The one that all floating inputs have; KG_ALL_DTYPES: they have none, or two.
kg_dtype kg_floating_dtype(const kg_task *t, const kg_case *c);

#endif
