// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/yaml_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "io/parse.h"

struct yaml_tree {
	yaml_document_t document;
};

struct yaml_path yaml_key(struct yaml_path path, const char *key)
{
	if (path.depth < YAML_DEPTH)
		path.step[path.depth++].key = key;
	return path;
}

struct yaml_path yaml_index(struct yaml_path path, unsigned int index)
{
	if (path.depth < YAML_DEPTH) {
		path.step[path.depth].key = NULL;
		path.step[path.depth++].index = index;
	}
	return path;
}

/* libyaml tells the place of a bad byte as an offset, of everything else as a mark. */
static int refuse_syntax(const yaml_parser_t *parser, const char *text, unsigned int *line, char *why,
			 size_t why_size)
{
	*line = (unsigned int)parser->problem_mark.line + 1;
	if (parser->error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	if (parser->error == YAML_READER_ERROR) {
		*line = 1;
		for (size_t i = 0; i < parser->problem_offset; i++)
			*line += text[i] == '\n';
	}
	return refuse(-EINVAL, why, why_size, "this is no YAML: %s%s%s",
		      parser->problem ? parser->problem : "cannot be read", parser->context ? " " : "",
		      parser->context ? parser->context : "");
}

/* Whatever stood in a second document would be ignored without a word. */
static int refuse_second(yaml_parser_t *parser, const char *text, unsigned int *line, char *why,
			 size_t why_size)
{
	yaml_document_t second;
	yaml_node_t *root;

	if (!yaml_parser_load(parser, &second))
		return refuse_syntax(parser, text, line, why, why_size);
	root = yaml_document_get_root_node(&second);
	if (root)
		*line = (unsigned int)root->start_mark.line + 1;
	yaml_document_delete(&second);
	if (!root)
		return 0;
	return refuse(-EINVAL, why, why_size, "a second document begins here: a configuration is one");
}

int yaml_tree_new(struct yaml_tree **tree, const char *text, size_t size, unsigned int *line, char *why,
		  size_t why_size)
{
	struct yaml_tree *t = calloc(1, sizeof(*t));
	yaml_parser_t parser;
	int err = 0;

	if (!t)
		return -ENOMEM;
	if (!yaml_parser_initialize(&parser)) {
		free(t);
		return -ENOMEM;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
	if (!yaml_parser_load(&parser, &t->document)) {
		err = refuse_syntax(&parser, text, line, why, why_size);
	} else {
		/* After an empty stream there is nothing that could be asked for once more. */
		if (yaml_document_get_root_node(&t->document))
			err = refuse_second(&parser, text, line, why, why_size);
		if (err)
			yaml_document_delete(&t->document);
	}
	yaml_parser_delete(&parser);
	if (err) {
		free(t);
		return err;
	}
	*tree = t;
	return 0;
}

void yaml_tree_free(struct yaml_tree *tree)
{
	if (!tree)
		return;
	yaml_document_delete(&tree->document);
	free(tree);
}

/* The last pair with this key, so that a repetition is found and not what it repeats. */
static yaml_node_pair_t *find_pair(struct yaml_tree *tree, yaml_node_t *node, const char *key)
{
	if (node->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *p = node->data.mapping.pairs.top; p-- > node->data.mapping.pairs.start;) {
		yaml_node_t *k = yaml_document_get_node(&tree->document, p->key);

		if (k && k->type == YAML_SCALAR_NODE && !strcmp((const char *)k->data.scalar.value, key))
			return p;
	}
	return NULL;
}

static yaml_node_t *find_element(struct yaml_tree *tree, yaml_node_t *node, unsigned int index)
{
	if (node->type != YAML_SEQUENCE_NODE ||
	    (size_t)(node->data.sequence.items.top - node->data.sequence.items.start) <= index)
		return NULL;
	return yaml_document_get_node(&tree->document, node->data.sequence.items.start[index]);
}

unsigned int yaml_tree_line(struct yaml_tree *tree, const struct yaml_path *path)
{
	yaml_node_t *node = yaml_document_get_root_node(&tree->document), *named = node;

	for (unsigned int i = 0; node && i < path->depth; i++) {
		const char *key = path->step[i].key;
		yaml_node_pair_t *pair = key ? find_pair(tree, node, key) : NULL;

		if (key) {
			node = pair ? yaml_document_get_node(&tree->document, pair->value) : NULL;
			named = pair ? yaml_document_get_node(&tree->document, pair->key) : named;
		} else {
			node = find_element(tree, node, path->step[i].index);
			named = node ? node : named;
		}
	}
	return named ? (unsigned int)named->start_mark.line + 1 : 1;
}
