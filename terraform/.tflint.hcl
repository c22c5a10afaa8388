# Every rule of the language itself; those about AWS are a plugin from elsewhere.
plugin "terraform" {
  enabled = true
  preset  = "all"
}

# An environment has values and asks for none; of modules tests/terraform wants all files.
rule "terraform_standard_module_structure" {
  enabled = false
}
